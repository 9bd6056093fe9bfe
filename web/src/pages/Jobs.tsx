/** Every job at a glance: a live table, filtered and sorted as the address says, and the panel of the one that is open. */
import {
  Bullseye,
  Drawer,
  DrawerContent,
  DrawerContentBody,
  EmptyState,
  EmptyStateBody,
  PageSection,
  Spinner,
} from "@patternfly/react-core";
import CubesIcon from "@patternfly/react-icons/dist/esm/icons/cubes-icon";
import SearchIcon from "@patternfly/react-icons/dist/esm/icons/search-icon";
import { useCallback, useDeferredValue, useMemo, useState } from "react";
import { useFleet } from "../api/react";
import { readKey } from "../api/types";
import { CommandLine } from "../components/CommandLine";
import { JobsToolbar } from "../components/JobsToolbar";
import { JobTable } from "../components/JobTable";
import { useI18n } from "../i18n";
import { Arranger, type Listing, readListing, writeListing } from "../model/listing";
import { changeQuery, href, navigate, useAddress } from "../router";
import { JobPanel } from "./JobPanel";

export function Jobs() {
  const { t } = useI18n();
  const { path, query } = useAddress();
  // Put off, so that what the stream brings never holds up what the viewer does: React does it piece by piece.
  const { list, known, byKey } = useDeferredValue(useFleet());
  const [arranger] = useState(() => new Arranger());
  const listing = useMemo(() => readListing(query), [query]);
  const rows = useMemo(() => arranger.arrange(byKey, listing), [arranger, byKey, listing]);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const chosen = useMemo(
    () => [...selected].map((key) => byKey.get(key)).filter((seen) => seen !== undefined),
    [selected, byKey],
  );
  const openText = query.get("job");
  const openKey = openText === null ? null : readKey(openText);
  const open = openKey === null ? null : openText;

  const change = useCallback(
    (changes: Partial<Listing>, replace = false) => {
      navigate(href(path, writeListing({ ...listing, ...changes }, query)), { replace });
    },
    [listing, path, query],
  );
  const select = useCallback((keys: readonly string[], isSelected: boolean) => {
    setSelected((before) => {
      const after = new Set(before);
      for (const key of keys) {
        if (isSelected) after.add(key);
        else after.delete(key);
      }
      return after;
    });
  }, []);
  const clearSelection = useCallback(() => setSelected(new Set()), []);
  const sort = useCallback((by: Listing["sort"], descending: boolean) => change({ sort: by, descending }), [change]);

  return (
    <PageSection isFilled hasBodyWrapper={false} padding={{ default: "noPadding" }} className="hw-jobs">
      <Drawer isExpanded={openKey !== null} isInline className="hw-drawer">
        <DrawerContent panelContent={openKey && <JobPanel key={openText} jobKey={openKey} onClose={closePanel} />}>
          <DrawerContentBody className="hw-jobs-body">
            <JobsToolbar
              all={list}
              known={known}
              shown={rows.length}
              listing={listing}
              onChange={change}
              chosen={chosen}
              onChosenDone={clearSelection}
            />
            {rows.length > 0 ? (
              <JobTable
                rows={rows}
                listing={listing}
                onSort={sort}
                selected={selected}
                onSelect={select}
                open={open}
                onOpen={openPanel}
              />
            ) : known ? (
              <Nothing isEmpty={list.length === 0} />
            ) : (
              <Bullseye>
                <Spinner aria-label={t("common.loading")} />
              </Bullseye>
            )}
          </DrawerContentBody>
        </DrawerContent>
      </Drawer>
    </PageSection>
  );
}

function openPanel(key: string): void {
  changeQuery((query) => query.set("job", key));
}

function closePanel(): void {
  changeQuery((query) => {
    query.delete("job");
    query.delete("tab");
  });
}

function Nothing({ isEmpty }: { readonly isEmpty: boolean }) {
  const { t } = useI18n();
  return isEmpty ? (
    <EmptyState headingLevel="h2" titleText={t("jobs.none")} icon={CubesIcon}>
      <EmptyStateBody>
        <p>{t("jobs.noneBody")}</p>
        <div className="hw-empty-commands">
          <CommandLine text="headway run -- python train.py" />
          <CommandLine text="headway demo" />
        </div>
      </EmptyStateBody>
    </EmptyState>
  ) : (
    <EmptyState headingLevel="h2" titleText={t("jobs.noMatch")} icon={SearchIcon} variant="sm">
      <EmptyStateBody>{t("jobs.noMatchBody")}</EmptyStateBody>
    </EmptyState>
  );
}
