/** The end of a job's log, live. It stays at the end while one looks at the end. */
import { Alert, Button } from "@patternfly/react-core";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { ApiError, followLog } from "../../api/client";
import { useConnection } from "../../api/react";
import type { Seen } from "../../api/store";
import type { Job } from "../../api/types";
import { useI18n } from "../../i18n";
import { commandLine } from "../../model/job";
import { LogTail } from "../../model/log";
import { CommandLine } from "../CommandLine";

const TAIL = 500;

export function Log({ seen: { job } }: { readonly seen: Seen<Job> }) {
  const { t } = useI18n();
  const live = useConnection().kind === "live";
  const [lines, setLines] = useState<readonly string[]>([]);
  const [error, setError] = useState<string | null>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const box = useRef<HTMLPreElement>(null);
  const { namespace, name } = job;
  const attempt = job.attempts.length;

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt goes on in the log, after the stream had ended
  useEffect(() => {
    if (!live) return;
    const abort = new AbortController();
    const tail = new LogTail();
    let frame = 0;
    let newest: readonly string[] = [];
    void (async () => {
      try {
        setError(null);
        for await (const chunk of followLog({ namespace, name }, TAIL, abort.signal)) {
          newest = tail.push(chunk);
          frame ||= requestAnimationFrame(() => {
            frame = 0;
            setLines(newest);
          });
        }
      } catch (failure) {
        if (!abort.signal.aborted) setError(failure instanceof ApiError ? failure.message : t("common.error"));
      }
    })();
    return () => {
      abort.abort();
      cancelAnimationFrame(frame);
    };
  }, [live, namespace, name, attempt, t]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: new lines are what there is to scroll to
  useLayoutEffect(() => {
    if (isAtEnd && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, isAtEnd]);

  return (
    <div className="hw-log">
      {error !== null && (
        <Alert isInline variant="info" component="h3" title={t("log.none")}>
          {error}
        </Alert>
      )}
      {error === null && (
        <>
          <pre
            ref={box}
            className="hw-log-text"
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolled region must be reachable by keyboard
            tabIndex={0}
            role="log"
            aria-label={t("job.tab.log")}
            onScroll={(event) => {
              const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
              setAtEnd(scrollHeight - scrollTop - clientHeight < 24);
            }}
          >
            {lines.join("\n")}
          </pre>
          <div className="hw-log-foot">
            <CommandLine text={`${commandLine("logs", job)} --follow`} />
            {!isAtEnd && (
              <Button variant="secondary" size="sm" onClick={() => setAtEnd(true)}>
                {t("log.toEnd")}
              </Button>
            )}
          </div>
        </>
      )}
    </div>
  );
}
