/** Says that the server is away, since when, and when the next attempt is. Nothing is shown while all is well. */
import { Alert, AlertActionLink } from "@patternfly/react-core";
import { useConnection, useNow, useRetry } from "../api/react";
import { useI18n } from "../i18n";

export function Banner() {
  const connection = useConnection();
  return connection.kind === "away" ? <Away since={connection.since} retryAt={connection.retryAt} /> : null;
}

function Away({ since, retryAt }: { readonly since: number; readonly retryAt: number }) {
  const { t, format } = useI18n();
  const retry = useRetry();
  useNow();
  const now = Date.now() / 1000;
  const left = Math.ceil(retryAt - now);
  return (
    <Alert
      isInline
      isLiveRegion
      variant="warning"
      className="hw-banner"
      title={t("connection.away")}
      actionLinks={<AlertActionLink onClick={retry}>{t("connection.retryNow")}</AlertActionLink>}
    >
      {t("connection.awayBody", { since: format.moment(since, now) ?? "" })}{" "}
      {left > 0 && <span aria-hidden="true">{t("connection.retrying", { seconds: format.duration(left) ?? "" })}</span>}
    </Alert>
  );
}
