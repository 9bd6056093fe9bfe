/** One job in depth, beside the list; which tab is open stands in the address. */
import {
  Bullseye,
  DrawerActions,
  DrawerCloseButton,
  DrawerHead,
  DrawerPanelBody,
  DrawerPanelContent,
  EmptyState,
  EmptyStateBody,
  Spinner,
  Tab,
  Tabs,
  TabTitleText,
  Title,
} from "@patternfly/react-core";
import { type ReactNode, useEffect, useRef } from "react";
import { useDetail } from "../api/details";
import { useFleet, useJob } from "../api/react";
import type { Seen } from "../api/store";
import { type Job, type JobKey, keyText } from "../api/types";
import { Boundary } from "../components/Boundary";
import { JobVerdict } from "../components/JobCell";
import { Actions } from "../components/panel/Actions";
import { Config } from "../components/panel/Config";
import { Curves } from "../components/panel/Curves";
import { History } from "../components/panel/History";
import { Log } from "../components/panel/Log";
import { Overview } from "../components/panel/Overview";
import { Ranks } from "../components/panel/Ranks";
import { StateLabel } from "../components/StateLabel";
import { useI18n } from "../i18n";
import { changeQuery, useAddress } from "../router";

const TABS = ["overview", "curves", "ranks", "history", "log", "config"] as const;
type TabName = (typeof TABS)[number];

interface Props {
  readonly jobKey: JobKey;
  readonly onClose: () => void;
}

export function JobPanel({ jobKey, onClose }: Props) {
  const { t } = useI18n();
  const { known } = useFleet();
  const row = useJob(keyText(jobKey));
  const seen = useDetail(keyText(jobKey));
  const heading = useRef<HTMLSpanElement>(null);

  // Whoever opens a panel from the keyboard goes on in it, and Escape leads back.
  useEffect(() => heading.current?.focus({ preventScroll: true }), []);

  return (
    <DrawerPanelContent
      isResizable
      defaultSize="46%"
      minSize="420px"
      maxSize="75%"
      resizeAriaLabel={t("job.resize")}
      className="hw-panel"
      aria-label={t("job.panel", { name: jobKey.name })}
      onKeyDown={(event) => {
        // An open menu is closed first.
        const isInMenu = (event.target as Element).closest('.pf-v6-c-menu, .pf-v6-c-menu-toggle[aria-expanded="true"]');
        if (event.key === "Escape" && !event.defaultPrevented && !isInMenu) onClose();
      }}
    >
      <DrawerHead className="hw-panel-head">
        <Title headingLevel="h2" size="xl" className="hw-panel-title">
          <span ref={heading} tabIndex={-1}>
            {(seen ?? row)?.job.spec.displayName || jobKey.name}
          </span>
        </Title>
        <DrawerActions>
          <DrawerCloseButton onClose={onClose} aria-label={t("common.close")} />
        </DrawerActions>
      </DrawerHead>
      {seen ? (
        <Content seen={seen} />
      ) : row || !known ? (
        <Bullseye>
          <Spinner aria-label={t("common.loading")} />
        </Bullseye>
      ) : (
        <DrawerPanelBody>
          <EmptyState headingLevel="h3" titleText={t("job.gone")} variant="sm">
            <EmptyStateBody>{t("job.goneBody")}</EmptyStateBody>
          </EmptyState>
        </DrawerPanelBody>
      )}
    </DrawerPanelContent>
  );
}

function Content({ seen }: { readonly seen: Seen<Job> }) {
  const { t } = useI18n();
  const { query } = useAddress();
  const wanted = query.get("tab");
  const tab = TABS.find((each) => each === wanted) ?? "overview";
  const { job } = seen;
  // On a narrow screen the tabs are wider than it is.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another tab is what there is to show
  useEffect(() => {
    const current = document.querySelector<HTMLElement>(".hw-panel-tabs .pf-m-current");
    const list = current?.parentElement;
    if (current && list) list.scrollLeft = current.offsetLeft - (list.clientWidth - current.offsetWidth) / 2;
  }, [tab]);
  const facts = [job.namespace, job.spec.framework, job.spec.owner, job.host].filter(Boolean);
  return (
    <>
      <div className="hw-panel-summary">
        <div className="hw-panel-labels">
          <StateLabel state={job.state} />
          {job.verdict !== null && <JobVerdict seen={seen} />}
          <span className="hw-panel-facts hw-cut">{facts.join(" · ")}</span>
        </div>
        <Actions seen={seen} />
      </div>
      <Tabs
        activeKey={tab}
        onSelect={(_, key) => openTab(key as TabName)}
        aria-label={t("job.tabs")}
        className="hw-panel-tabs"
        mountOnEnter
        unmountOnExit
      >
        {TABS.map((name) => (
          <Tab key={name} eventKey={name} title={<TabTitleText>{t(`job.tab.${name}`)}</TabTitleText>}>
            <DrawerPanelBody className={`hw-panel-body hw-panel-${name}`}>
              <Boundary of={`${seen.key} ${name}`}>{tab === name && content(name, seen)}</Boundary>
            </DrawerPanelBody>
          </Tab>
        ))}
      </Tabs>
    </>
  );
}

function openTab(name: TabName): void {
  changeQuery(
    (query) => {
      if (name === "overview") query.delete("tab");
      else query.set("tab", name);
    },
    { replace: true },
  );
}

function content(name: TabName, seen: Seen<Job>): ReactNode {
  switch (name) {
    case "overview":
      return <Overview seen={seen} />;
    case "curves":
      return <Curves seen={seen} />;
    case "ranks":
      return <Ranks seen={seen} />;
    case "history":
      return <History seen={seen} />;
    case "log":
      return <Log seen={seen} />;
    case "config":
      return <Config seen={seen} />;
  }
}
