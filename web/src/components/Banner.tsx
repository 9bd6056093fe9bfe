/** Says that the server is away, since when, and when the next attempt is; or that it has a newer dashboard. */
import { Alert, AlertActionLink } from "@patternfly/react-core";
import { useConnection, useNow, useRetry } from "../api/react";
import { useIsOutdated } from "../api/version";
import { useI18n } from "../i18n";

export function Banner() {
  const connection = useConnection();
  const isOutdated = useIsOutdated();
  if (connection.kind === "away") return <Away since={connection.since} retryAt={connection.retryAt} />;
  return isOutdated ? <Outdated /> : null;
}

function Outdated() {
  const { t } = useI18n();
  return (
    <Alert
      isInline
      isLiveRegion
      variant="info"
      className="hw-banner"
      title={t("app.newer")}
      actionLinks={<AlertActionLink onClick={() => window.location.reload()}>{t("app.reload")}</AlertActionLink>}
    >
      {t("app.newerBody")}
    </Alert>
  );
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
