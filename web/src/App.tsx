/** Which page the address asks for. Compare and Fleet come when they are first opened. */
import { Bullseye, Spinner } from "@patternfly/react-core";
import { lazy, type ReactNode, Suspense } from "react";
import { useConnection } from "./api/react";
import { Boundary } from "./components/Boundary";
import { Shell } from "./components/Shell";
import { useI18n } from "./i18n";
import { Jobs } from "./pages/Jobs";
import { Login } from "./pages/Login";
import { NotFound } from "./pages/NotFound";
import { useAddress } from "./router";
import { useAppliedTheme } from "./theme";

const Compare = lazy(async () => ({ default: (await import("./pages/Compare")).Compare }));
const Fleet = lazy(async () => ({ default: (await import("./pages/Fleet")).Fleet }));

export function App() {
  useAppliedTheme();
  const { t } = useI18n();
  const { path } = useAddress();
  const connection = useConnection();
  const waiting = (
    <Bullseye>
      <Spinner aria-label={t("common.loading")} />
    </Bullseye>
  );
  return (
    <Shell>
      <Boundary of={path}>
        <Suspense fallback={waiting}>{connection.kind === "signedOut" ? <Login /> : page(path)}</Suspense>
      </Boundary>
    </Shell>
  );
}

function page(path: string): ReactNode {
  switch (path) {
    case "/":
      return <Jobs />;
    case "/compare":
      return <Compare />;
    case "/fleet":
      return <Fleet />;
    default:
      return <NotFound />;
  }
}
