/** What a message catalogue is: English gives the keys; a catalogue that lacks one does not compile. */
import english from "./en";

/** A text, or its forms by plural category (Intl.PluralRules) of the parameter `count`. `{name}` stands for a parameter. */
export type Text = string | Plural;
export interface Plural {
  readonly one?: string;
  readonly other: string;
}

export type MessageKey = keyof typeof english;
/** Whether there is such a message. */
export const isMessageKey = (key: string): key is MessageKey => Object.hasOwn(english, key);
export type Catalogue = Readonly<Record<MessageKey, Text>>;
/** The part of a catalogue that has the same keys as an English part. */
export type Part<T> = Readonly<Record<keyof T, Text>>;

export type Parameters = Readonly<Record<string, string | number>>;

/** A message with its parameters filled in; `count` chooses the plural form, and is shown as the locale writes numbers. */
export function render(catalogue: Catalogue, locale: string, key: MessageKey, parameters: Parameters = {}): string {
  const text = catalogue[key];
  const pattern = typeof text === "string" ? text : chooseForm(text, locale, parameters.count);
  return pattern.replace(/\{(\w+)\}/g, (whole, name: string) => {
    const value = parameters[name];
    if (value === undefined) return whole;
    return typeof value === "number" ? value.toLocaleString(locale, { useGrouping: "always" }) : value;
  });
}

function chooseForm(plural: Plural, locale: string, count: string | number | undefined): string {
  const category = new Intl.PluralRules(locale).select(Number(count ?? 0));
  return (category === "one" ? plural.one : undefined) ?? plural.other;
}
