/** How a job was set up: hyperparameters, and what was asked of the platform. */
import { Label, LabelGroup, SearchInput, Title } from "@patternfly/react-core";
import { useState } from "react";
import type { Seen } from "../../api/store";
import type { Job } from "../../api/types";
import { useI18n } from "../../i18n";
import { exactText } from "../../model/format";
import { quote } from "../../model/job";
import { Figure } from "../Figure";
import { Facts } from "./Facts";

/** From so many hyperparameters on there is a field to find one. */
const MANY = 12;

export function Config({ seen: { job } }: { readonly seen: Seen<Job> }) {
  const { t, format } = useI18n();
  const [text, setText] = useState("");
  const entries = Object.entries(job.config);
  const found = entries.filter(([name]) => name.toLowerCase().includes(text.toLowerCase()));
  const { spec } = job;
  return (
    <>
      <section className="hw-part">
        <Title headingLevel="h3" size="md">
          {t("config.hyperparameters")}
        </Title>
        {entries.length >= MANY && (
          <SearchInput
            value={text}
            onChange={(_, value) => setText(value)}
            onClear={() => setText("")}
            placeholder={t("jobs.search")}
            aria-label={t("jobs.search")}
          />
        )}
        {entries.length === 0 ? (
          <p className="hw-fact-note">{t("config.none")}</p>
        ) : (
          <Facts
            facts={found.map(([name, value]) => ({
              label: name,
              value: <code className="hw-code">{exactText(value)}</code>,
            }))}
          />
        )}
      </section>
      <section className="hw-part">
        <Title headingLevel="h3" size="md">
          {t("config.spec")}
        </Title>
        {job.tags.length > 0 && (
          <LabelGroup categoryName={t("jobs.column.tags")}>
            {job.tags.map((tag) => (
              <Label key={tag} isCompact variant="outline">
                {tag}
              </Label>
            ))}
          </LabelGroup>
        )}
        <Facts
          facts={[
            { label: t("jobs.column.name"), value: job.name },
            { label: t("config.platform"), value: job.platform },
            { label: t("jobs.column.framework"), value: <Figure value={spec.framework} /> },
            { label: t("config.runtime"), value: <Figure value={spec.runtime} /> },
            { label: t("config.queue"), value: <Figure value={spec.queue} /> },
            { label: t("jobs.column.owner"), value: <Figure value={spec.owner} /> },
            { label: t("config.nodes"), value: format.count(spec.nodes ?? 1) },
            { label: t("config.devices"), value: <Figure value={format.count(spec.devicesPerNode)} /> },
            { label: t("config.deviceType"), value: <Figure value={spec.deviceType} /> },
            { label: t("config.price"), value: <Figure value={format.money(job.ledger.pricePerHour)} /> },
            { label: t("config.host"), value: <Figure value={job.host} /> },
            { label: t("config.created"), value: <Figure value={format.fullMoment(job.createdAt)} /> },
          ]}
        />
        {(spec.command?.length ?? 0) > 0 && (
          <>
            <h4 className="hw-fact-note">{t("config.command")}</h4>
            <pre className="hw-command">
              {spec.command?.map((word, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a word may come twice, and none moves
                <span key={index}>
                  <span className="hw-word">{quote(word)}</span>{" "}
                </span>
              ))}
            </pre>
          </>
        )}
        {job.log && (
          <>
            <h4 className="hw-fact-note">{t("job.tab.log")}</h4>
            <pre className="hw-command">{job.log}</pre>
          </>
        )}
      </section>
    </>
  );
}
