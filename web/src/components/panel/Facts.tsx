/** Names and values, as many beside each other as there is room for. */
import type { ReactNode } from "react";

export interface Fact {
  readonly label: string;
  readonly value: ReactNode;
}

export function Facts({ facts }: { readonly facts: readonly Fact[] }) {
  return (
    <dl className="hw-facts">
      {facts.map(({ label, value }) => (
        <div key={label} className="hw-fact">
          <dt title={label}>{label}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
