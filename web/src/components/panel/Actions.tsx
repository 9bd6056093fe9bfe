/** What can be done to a job, and the lines that do the same in a terminal. */
import {
  Alert,
  AlertActionCloseButton,
  Button,
  Dropdown,
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
import { useI18n } from "../../i18n";
import { canCheckpoint, canPause, canResume, canStop, commandLine } from "../../model/job";
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
  const lines = [
    commandLine("show", job),
    commandLine("logs", job),
    ...(canCheckpoint(job) ? [commandLine("checkpoint", job)] : []),
    ...(canPause(job) ? [commandLine("pause", job)] : []),
    ...(canResume(job) ? [commandLine("resume", job)] : []),
    ...(canStop(job) ? [`${commandLine("stop", job)} --save`] : []),
    `Client().job(${JSON.stringify(job.name)}, namespace=${JSON.stringify(job.namespace)})`,
  ];

  async function copy(line: string): Promise<void> {
    await navigator.clipboard.writeText(line);
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
      <DropdownList aria-label={t("job.copy")}>
        {lines.map((line) => (
          <DropdownItem key={line} onClick={() => void copy(line)}>
            <code className="hw-code">{line}</code>
          </DropdownItem>
        ))}
      </DropdownList>
    </Dropdown>
  );
}
