/** Languages for React: the provider loads a catalogue, `useI18n` gives texts and figures in the viewer's language. */
import {
  createContext,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useLayoutEffect,
  useMemo,
  useState,
} from "react";
import { checkVersion } from "../api/version";
import { type Format, formatFor } from "../model/format";
import { type Catalogue, type MessageKey, type Parameters, render } from "./catalogue";
import en from "./en";
import { chooseLanguage, LANGUAGES, type Language, loadCatalogue } from "./languages";

export type Translate = (key: MessageKey, parameters?: Parameters) => string;

export interface I18n {
  readonly language: Language;
  readonly setLanguage: (language: Language) => void;
  readonly t: Translate;
  readonly format: Format;
}

const STORED = "headway.language";
const Context = createContext<I18n | null>(null);

export function I18nProvider({ children, initial }: { readonly children: ReactNode; readonly initial?: Language }) {
  const [wanted, setWanted] = useState<Language>(
    () => initial ?? storedLanguage() ?? chooseLanguage(navigator.languages),
  );
  const [shown, setShown] = useState<{ readonly language: Language; readonly catalogue: Catalogue } | null>(
    wanted === "en" ? { language: "en", catalogue: en } : null,
  );

  useEffect(() => {
    let current = true;
    loadCatalogue(wanted).then(
      (catalogue) => {
        if (current) setShown({ language: wanted, catalogue });
      },
      () => {
        // It may be gone with the build that this page is of: what is shown stays, and English is always there.
        void checkVersion();
        if (current) setShown((before) => before ?? { language: "en", catalogue: en });
      },
    );
    return () => {
      current = false;
    };
  }, [wanted]);

  const setLanguage = useCallback((language: Language) => {
    localStorage.setItem(STORED, language);
    setWanted(language);
  }, []);

  const value = useMemo<I18n | null>(() => {
    if (!shown) return null;
    const { language, catalogue } = shown;
    return {
      language,
      setLanguage,
      t: (key, parameters) => render(catalogue, language, key, parameters),
      format: formatFor(regional(language)),
    };
  }, [shown, setLanguage]);

  useLayoutEffect(() => {
    if (value) document.documentElement.lang = value.language;
  }, [value]);

  return value && <Context value={value}>{children}</Context>;
}

export function useI18n(): I18n {
  const value = useContext(Context);
  if (!value) throw new Error("no I18nProvider above this component");
  return value;
}

function storedLanguage(): Language | undefined {
  const stored = localStorage.getItem(STORED);
  return LANGUAGES.find((language) => language === stored);
}

/** The viewer's own region for numbers and dates where the browser names one in this language (en-GB for en). */
function regional(language: Language): string {
  return navigator.languages.find((tag) => tag.split("-")[0] === language.split("-")[0]) ?? language;
}
