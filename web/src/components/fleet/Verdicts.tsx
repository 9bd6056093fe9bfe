/** Device-hours by verdict, and by state for what does not run, as bars. */
import type { State, Verdict } from "../../api/types";
import { useI18n } from "../../i18n";
import type { VerdictGroup } from "../../model/fleet";
import { stateTone, verdictTone } from "../../model/verdict";
import { followLink } from "../../router";
import { Total } from "./Total";

export function Verdicts({ groups }: { readonly groups: readonly VerdictGroup[] }) {
  const { t, format } = useI18n();
  const most = Math.max(...groups.map((group) => group.spent.deviceHours.value), 0);
  const hasMoney = groups.some((group) => group.spent.money.value > 0);
  return (
    <div className="hw-fleet__scroll">
      <table className="hw-table hw-verdicts">
        <thead>
          <tr>
            <th scope="col">{t("jobs.column.verdict")}</th>
            <th scope="col">{t("fleet.jobs")}</th>
            <th scope="col" className="hw-verdicts__bar">
              <span className="pf-v6-screen-reader">{t("fleet.share")}</span>
            </th>
            <th scope="col">{t("fleet.deviceHours")}</th>
            {hasMoney && <th scope="col">{t("fleet.spent")}</th>}
          </tr>
        </thead>
        <tbody>
          {groups.map(({ kind, name, jobs, spent }) => {
            const tone = kind === "verdict" ? verdictTone(name as Verdict) : stateTone(name as State);
            return (
              <tr key={`${kind} ${name}`}>
                <th scope="row">
                  <a href={`/?${new URLSearchParams({ [kind]: name })}`} onClick={followLink}>
                    {kind === "verdict" ? t(`verdict.${name as Verdict}`) : t(`state.${name as State}`)}
                  </a>
                </th>
                <td>{format.count(jobs)}</td>
                <td className="hw-verdicts__bar">
                  <Bar part={most > 0 ? spent.deviceHours.value / most : 0} tone={tone} />
                </td>
                <td>
                  <Total sum={spent.deviceHours} write={format.amount} />
                </td>
                {hasMoney && (
                  <td>
                    <Total sum={spent.money} write={format.money} />
                  </td>
                )}
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

function Bar({ part, tone }: { readonly part: number; readonly tone: string }) {
  return (
    <div aria-hidden="true" className={`hw-fleet-bar hw-tone-${tone}`}>
      <div style={{ inlineSize: `${Math.max(part > 0 ? 1 : 0, part * 100)}%` }} />
    </div>
  );
}
