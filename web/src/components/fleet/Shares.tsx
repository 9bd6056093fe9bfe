/** Who holds devices now, and who has spent what, by namespace or by owner. */
import { useI18n } from "../../i18n";
import type { GroupBy, ShareGroup } from "../../model/fleet";
import { followLink } from "../../router";
import { Unknown } from "../Figure";
import { Total } from "./Total";

const MOST = 30;

export function Shares({ groups, by }: { readonly groups: readonly ShareGroup[]; readonly by: GroupBy }) {
  const { t, format } = useI18n();
  const hasMoney = groups.some((group) => group.spent.money.value > 0);
  return (
    <div className="hw-fleet__scroll">
      <table className="hw-table">
        <thead>
          <tr>
            <th scope="col">{t(`jobs.column.${by}`)}</th>
            <th scope="col">{t("fleet.jobs")}</th>
            <th scope="col">{t("fleet.devicesNow")}</th>
            <th scope="col">{t("fleet.deviceHours")}</th>
            <th scope="col" title={t("fleet.withoutProgressTitle")}>
              {t("fleet.withoutProgress")}
            </th>
            {hasMoney && <th scope="col">{t("fleet.spent")}</th>}
          </tr>
        </thead>
        <tbody>
          {groups.slice(0, MOST).map(({ name, jobs, running, devices, spent, withoutProgress }) => (
            <tr key={name ?? ""}>
              <th scope="row">
                {name === null ? (
                  <Unknown />
                ) : (
                  <a href={`/?${new URLSearchParams({ [by]: name })}`} onClick={followLink}>
                    {name}
                  </a>
                )}
              </th>
              <td title={t("fleet.runningOf", { count: running, total: format.count(jobs) ?? "" })}>
                {format.count(running)} / {format.count(jobs)}
              </td>
              <td>
                <Total sum={devices} write={format.count} />
              </td>
              <td>
                <Total sum={spent.deviceHours} write={format.amount} />
              </td>
              <td className={withoutProgress.deviceHours.value > 0 ? "hw-fleet__waste" : undefined}>
                <Total sum={withoutProgress.deviceHours} write={format.amount} />
              </td>
              {hasMoney && (
                <td>
                  <Total sum={spent.money} write={format.money} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
      {groups.length > MOST && <p className="hw-fleet__note">{t("common.andMore", { count: groups.length - MOST })}</p>}
    </div>
  );
}
