/** What can be done to a job, and the lines that do the same in a terminal. */
import {
  Alert,
  AlertActionCloseButton,
  Button,
  Dropdown,
  DropdownGroup,
  DropdownItem,
  DropdownList,
  MenuToggle,
} from "@patternfly/react-core";
import CopyIcon from "@patternfly/react-icons/dist/esm/icons/copy-icon";
import PauseIcon from "@patternfly/react-icons/dist/esm/icons/pause-icon";
import PlayIcon from "@patternfly/react-icons/dist/esm/icons/play-icon";
import SaveIcon from "@patternfly/react-icons/dist/esm/icons/save-icon";
import StopIcon from "@patternfly/react-icons/dist/esm/icons/stop-icon";
import { useState } from "react";
import { act, type Verb } from "../../api/client";
import type { Seen } from "../../api/store";
import type { Job } from "../../api/types";
import { copyText } from "../../clipboard";
import { useI18n } from "../../i18n";
import { canCheckpoint, canPause, canResume, canStop, commandLine, sdkLine } from "../../model/job";
import { EndDialog } from "../EndDialog";

export function Actions({ seen }: { readonly seen: Seen<Job> }) {
  const { t } = useI18n();
  const { job } = seen;
  const [ending, setEnding] = useState<"stop" | "pause" | null>(null);
  const [busy, setBusy] = useState<Verb | null>(null);
  const [error, setError] = useState<string | null>(null);

  async function ask(verb: Verb): Promise<void> {
    setBusy(verb);
    setError(null);
    try {
      await act(job, verb);
    } catch (failure) {
      setError((failure as Error).message);
    }
    setBusy(null);
  }

  return (
    <>
      <div className="hw-actions">
        {canCheckpoint(job) && (
          <Button
            variant="secondary"
            size="sm"
            icon={<SaveIcon />}
            isLoading={busy === "checkpoint"}
            onClick={() => void ask("checkpoint")}
          >
            {t("checkpoint.do")}
          </Button>
        )}
        {canPause(job) && (
          <Button variant="secondary" size="sm" icon={<PauseIcon />} onClick={() => setEnding("pause")}>
            {t("pause.do")}
          </Button>
        )}
        {canResume(job) && (
          <Button
            variant="secondary"
            size="sm"
            icon={<PlayIcon />}
            isLoading={busy === "resume"}
            onClick={() => void ask("resume")}
          >
            {t("resume.do")}
          </Button>
        )}
        {canStop(job) && (
          <Button variant="secondary" isDanger size="sm" icon={<StopIcon />} onClick={() => setEnding("stop")}>
            {t("stop.do")}
          </Button>
        )}
        <CopyMenu seen={seen} />
      </div>
      {error !== null && (
        <Alert
          isInline
          isLiveRegion
          variant="danger"
          title={t("common.error")}
          actionClose={<AlertActionCloseButton onClose={() => setError(null)} />}
        >
          {error}
        </Alert>
      )}
      {ending && <EndDialog verb={ending} jobs={[seen]} onClose={() => setEnding(null)} />}
    </>
  );
}

function CopyMenu({ seen: { job } }: { readonly seen: Seen<Job> }) {
  const { t } = useI18n();
  const [isOpen, setOpen] = useState(false);
  const [copied, setCopied] = useState(false);
  const verbs = [
    ...(canCheckpoint(job) ? (["checkpoint"] as const) : []),
    ...(canPause(job) ? (["pause"] as const) : []),
    ...(canResume(job) ? (["resume"] as const) : []),
  ];
  const groups = [
    {
      label: t("job.copy.shell"),
      lines: [
        commandLine("show", job),
        commandLine("logs", job),
        ...verbs.map((verb) => commandLine(verb, job)),
        ...(canStop(job) ? [`${commandLine("stop", job)} --save`] : []),
      ],
    },
    {
      label: t("job.copy.python"),
      lines: [
        "from headway import Client",
        sdkLine("job", job),
        ...verbs.map((verb) => sdkLine(verb, job)),
        ...(canStop(job) ? [sdkLine("stop", job, ", save=True")] : []),
      ],
    },
  ];

  async function copy(line: string): Promise<void> {
    await copyText(line);
    setOpen(false);
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  }

  return (
    <Dropdown
      isOpen={isOpen}
      onOpenChange={setOpen}
      popperProps={{ position: "right" }}
      shouldFocusToggleOnSelect
      toggle={(ref) => (
        <MenuToggle
          ref={ref}
          size="sm"
          variant="plainText"
          isExpanded={isOpen}
          onClick={() => setOpen(!isOpen)}
          icon={<CopyIcon />}
        >
          {copied ? t("common.copied") : t("job.copy")}
        </MenuToggle>
      )}
    >
      {groups.map(({ label, lines }) => (
        <DropdownGroup key={label} label={label}>
          <DropdownList aria-label={label}>
            {lines.map((line) => (
              <DropdownItem key={line} onClick={() => void copy(line)}>
                <code className="hw-code">{line}</code>
              </DropdownItem>
            ))}
          </DropdownList>
        </DropdownGroup>
      ))}
    </Dropdown>
  );
}
