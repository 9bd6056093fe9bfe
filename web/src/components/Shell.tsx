/** The frame of every page: masthead with the pages' names, theme and language, and the banner that tells of the server. */
import {
  Brand,
  Masthead,
  MastheadBrand,
  MastheadContent,
  MastheadLogo,
  MastheadMain,
  Nav,
  NavItem,
  NavList,
  Page,
  SkipToContent,
  Toolbar,
  ToolbarContent,
  ToolbarGroup,
  ToolbarItem,
} from "@patternfly/react-core";
import type { MouseEvent, ReactNode } from "react";
import { useI18n } from "../i18n";
import { followLink, useAddress } from "../router";
import { Banner } from "./Banner";
import { LanguageSwitch } from "./LanguageSwitch";
import logo from "./logo.svg";
import { ThemeSwitch } from "./ThemeSwitch";

const PAGES = [
  { path: "/", label: "nav.jobs" },
  { path: "/compare", label: "nav.compare" },
  { path: "/fleet", label: "nav.fleet" },
] as const;

const MAIN = "main";

export function Shell({ children }: { readonly children: ReactNode }) {
  const { t } = useI18n();
  const { path } = useAddress();
  const masthead = (
    <Masthead display={{ default: "inline" }} className="hw-masthead">
      <MastheadMain>
        <MastheadBrand>
          <MastheadLogo href="/" onClick={followLink} className="hw-logo" aria-label={t("app.name")}>
            <Brand src={logo} alt="" heights={{ default: "24px" }} />
            <span>{t("app.name")}</span>
          </MastheadLogo>
        </MastheadBrand>
      </MastheadMain>
      <MastheadContent>
        <Toolbar isStatic isFullHeight>
          <ToolbarContent>
            <ToolbarItem isOverflowContainer>
              <Nav variant="horizontal" aria-label={t("nav.label")}>
                <NavList>
                  {PAGES.map((page) => (
                    // A NavItem puts its own handler in the place of its child's.
                    <NavItem
                      key={page.path}
                      isActive={path === page.path}
                      onClick={(event) => followLink(event as unknown as MouseEvent<HTMLAnchorElement>)}
                    >
                      <a href={page.path} aria-current={path === page.path ? "page" : undefined}>
                        {t(page.label)}
                      </a>
                    </NavItem>
                  ))}
                </NavList>
              </Nav>
            </ToolbarItem>
            <ToolbarGroup align={{ default: "alignEnd" }} variant="action-group-plain">
              <ToolbarItem>
                <LanguageSwitch />
              </ToolbarItem>
              <ToolbarItem>
                <ThemeSwitch />
              </ToolbarItem>
            </ToolbarGroup>
          </ToolbarContent>
        </Toolbar>
      </MastheadContent>
    </Masthead>
  );
  return (
    <Page
      masthead={masthead}
      banner={<Banner />}
      skipToContent={<SkipToContent href={`#${MAIN}`}>{t("app.skipToContent")}</SkipToContent>}
      mainContainerId={MAIN}
      isContentFilled
    >
      {children}
    </Page>
  );
}
