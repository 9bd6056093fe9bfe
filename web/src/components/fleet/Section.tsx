/** A titled part of the page, with its controls beside the title. */
import { Title } from "@patternfly/react-core";
import { type ReactNode, useId } from "react";

interface Props {
  readonly title: string;
  readonly controls?: ReactNode;
  readonly children: ReactNode;
}

export function Section({ title, controls, children }: Props) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="hw-fleet__section">
      <div className="hw-fleet__head">
        <Title headingLevel="h2" size="md" id={id}>
          {title}
        </Title>
        {controls}
      </div>
      {children}
    </section>
  );
}
