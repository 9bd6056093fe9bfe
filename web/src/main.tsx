import "@patternfly/react-core/dist/styles/base.css";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./App";
import { DetailContext, DetailStore } from "./api/details";
import { RetryContext, StoreContext } from "./api/react";
import { connect, JobStore } from "./api/store";
import { watchVersion } from "./api/version";
import { I18nProvider } from "./i18n";
import { applyTheme } from "./theme";
// Last: what is ours comes after the components' own.
import "./styles/app.css";

applyTheme();
const store = new JobStore();
const say = connect(store);
watchVersion(store);
const details = new DetailStore(store);
const retry = () => say("retry");
// Nothing polls: what is asked for once is kept up to date by the stream, not by asking again.
const queries = new QueryClient({
  defaultOptions: {
    queries: { staleTime: Number.POSITIVE_INFINITY, refetchOnWindowFocus: false, refetchOnReconnect: false, retry: 1 },
  },
});

const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <StoreContext value={store}>
          <DetailContext value={details}>
            <RetryContext value={retry}>
              <I18nProvider>
                <App />
              </I18nProvider>
            </RetryContext>
          </DetailContext>
        </StoreContext>
      </QueryClientProvider>
    </StrictMode>,
  );
}
