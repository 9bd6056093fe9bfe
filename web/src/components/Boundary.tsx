/** What stands in the place of a part that could not be loaded or shown, so that the rest of the page goes on. */
import { Button, EmptyState, EmptyStateActions, EmptyStateFooter } from "@patternfly/react-core";
import { Component, type ReactNode } from "react";
import { checkVersion } from "../api/version";
import { useI18n } from "../i18n";

interface Props {
  /** Another one is another chance. */
  readonly of: string;
  readonly children: ReactNode;
}

interface State {
  readonly of: string;
  readonly hasFailed: boolean;
}

export class Boundary extends Component<Props, State> {
  override state: State = { of: this.props.of, hasFailed: false };

  static getDerivedStateFromProps({ of }: Props, state: State): State | null {
    return state.of === of ? null : { of, hasFailed: false };
  }

  static getDerivedStateFromError(): Partial<State> {
    return { hasFailed: true };
  }

  override componentDidCatch(): void {
    void checkVersion();
  }

  override render(): ReactNode {
    return this.state.hasFailed ? <Failed /> : this.props.children;
  }
}

function Failed() {
  const { t } = useI18n();
  return (
    <EmptyState headingLevel="h2" titleText={t("app.partFailed")} variant="sm">
      <EmptyStateFooter>
        <EmptyStateActions>
          <Button variant="primary" onClick={() => window.location.reload()}>
            {t("app.reload")}
          </Button>
        </EmptyStateActions>
      </EmptyStateFooter>
    </EmptyState>
  );
}
