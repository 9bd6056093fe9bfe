/** Which languages there are, which one a viewer gets, and where their catalogues are loaded from. */
import type { Catalogue } from "./catalogue";
import en from "./en";

export const LANGUAGES = ["en", "ja", "it", "pt-BR"] as const;
export type Language = (typeof LANGUAGES)[number];

/** Each language's own name. */
export const LANGUAGE_NAMES: Readonly<Record<Language, string>> = {
  en: "English",
  ja: "日本語",
  it: "Italiano",
  "pt-BR": "Português (Brasil)",
};

const LOADERS: Readonly<Record<Language, () => Promise<Catalogue>>> = {
  en: async () => en,
  ja: async () => (await import("./ja")).default,
  it: async () => (await import("./it")).default,
  "pt-BR": async () => (await import("./pt-BR")).default,
};

export const loadCatalogue = (language: Language): Promise<Catalogue> => LOADERS[language]();

/** The first language that both sides know: `wanted` as a browser lists them, most wanted first. */
export function chooseLanguage(wanted: readonly string[]): Language {
  for (const tag of wanted) {
    const exact = LANGUAGES.find((language) => language.toLowerCase() === tag.toLowerCase());
    const base = tag.toLowerCase().split("-")[0];
    const found = exact ?? LANGUAGES.find((language) => language.toLowerCase().split("-")[0] === base);
    if (found) return found;
  }
  return "en";
}
