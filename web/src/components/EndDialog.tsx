/** Asks before jobs are stopped or paused, and says what that would lose: the work since each one's last checkpoint. */
import {
  Alert,
  Button,
  Checkbox,
  List,
  ListItem,
  Modal,
  ModalBody,
  ModalFooter,
  ModalHeader,
} from "@patternfly/react-core";
import { useState } from "react";
import { act } from "../api/client";
import type { Seen } from "../api/store";
import { useI18n } from "../i18n";
import { atRisk, commandLine } from "../model/job";
import { CommandLine } from "./CommandLine";

const LISTED = 8;

interface Props {
  readonly verb: "stop" | "pause";
  readonly jobs: readonly Seen[];
  /** `done`: all of them were asked. */
  readonly onClose: (done: boolean) => void;
}

export function EndDialog({ verb, jobs, onClose }: Props) {
  const { t } = useI18n();
  const [saves, setSaves] = useState(true);
  const [isBusy, setBusy] = useState(false);
  const [errors, setErrors] = useState<readonly string[]>([]);
  const single = jobs.length === 1 ? jobs[0] : undefined;
  const title = single ? t(`${verb}.title`, { name: single.job.name }) : t(`${verb}.many`, { count: jobs.length });

  async function carryOut(): Promise<void> {
    setBusy(true);
    const request = verb === "stop" ? { save: saves } : {};
    const results = await Promise.allSettled(jobs.map(({ job }) => act(job, verb, request)));
    const failed = results.flatMap((result, index) =>
      result.status === "rejected" ? [`${jobs[index]?.job.name ?? ""}: ${(result.reason as Error).message}`] : [],
    );
    setBusy(false);
    if (failed.length === 0) onClose(true);
    else setErrors(failed);
  }

  return (
    <Modal
      variant="small"
      isOpen
      onClose={() => onClose(false)}
      aria-labelledby="end-title"
      aria-describedby="end-body"
    >
      <ModalHeader title={title} titleIconVariant="warning" labelId="end-title" />
      <ModalBody id="end-body">
        <p>{t(`${verb}.body`)}</p>
        <List isPlain className="hw-losses">
          {jobs.slice(0, LISTED).map((seen) => (
            <Loss key={seen.key} seen={seen} isNamed={!single} />
          ))}
          {jobs.length > LISTED && <ListItem>{t("common.andMore", { count: jobs.length - LISTED })}</ListItem>}
        </List>
        {verb === "stop" && (
          <Checkbox
            id="stop-saves"
            isChecked={saves}
            onChange={(_, chosen) => setSaves(chosen)}
            label={t("stop.save")}
            description={t("stop.saveBody")}
          />
        )}
        {single && (
          <p className="hw-dialog-line">
            <CommandLine text={`${commandLine(verb, single.job)}${verb === "stop" && saves ? " --save" : ""}`} />
          </p>
        )}
        {errors.map((error) => (
          <Alert key={error} isInline isLiveRegion variant="danger" title={t("common.error")}>
            {error}
          </Alert>
        ))}
      </ModalBody>
      <ModalFooter>
        <Button
          variant={verb === "stop" ? "danger" : "primary"}
          isLoading={isBusy}
          isDisabled={isBusy}
          onClick={() => void carryOut()}
        >
          {t(`${verb}.do`)}
        </Button>
        <Button variant="link" onClick={() => onClose(false)}>
          {t("common.cancel")}
        </Button>
      </ModalFooter>
    </Modal>
  );
}

function Loss({ seen: { job }, isNamed }: { readonly seen: Seen; readonly isNamed: boolean }) {
  const { t, format } = useI18n();
  const { steps, from } = atRisk(job);
  const hours = format.amount(job.ledger.atRisk?.deviceHours);
  const amount =
    format.money(job.ledger.atRisk?.money) ?? (hours === null ? null : t("jobs.deviceHours", { amount: hours }));
  const words =
    steps === null
      ? t("end.lossUnknown")
      : from === null
        ? t("end.lossAll", { count: steps })
        : t("end.loss", { count: steps, from: format.count(from) ?? "" });
  return (
    <ListItem>
      {isNamed && <strong className="hw-cut">{job.name}</strong>} {words}
      {amount !== null && from !== null && ` (${amount})`}
    </ListItem>
  );
}
