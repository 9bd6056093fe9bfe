import { describe, expect, it } from "vitest";
import { type Catalogue, type MessageKey, render, type Text } from "../../src/i18n/catalogue";
import en from "../../src/i18n/en";
import { chooseLanguage, LANGUAGE_NAMES, LANGUAGES, loadCatalogue } from "../../src/i18n/languages";

const forms = (text: Text): string[] =>
  typeof text === "string" ? [text] : [text.one, text.other].filter((form) => form !== undefined);
const parameters = (text: string): string[] => [...text.matchAll(/\{(\w+)\}/g)].map((match) => match[1] ?? "").sort();
const english: Catalogue = en;

describe.each(LANGUAGES)("catalogue %s", (language) => {
  it("has every key of English, and no other", async () => {
    const catalogue = await loadCatalogue(language);
    expect(Object.keys(catalogue).sort()).toEqual(Object.keys(en).sort());
  });

  it("leaves no text empty, and names the same parameters as English", async () => {
    const catalogue = await loadCatalogue(language);
    for (const key of Object.keys(en) as MessageKey[]) {
      const full = parameters(forms(english[key]).at(-1) ?? "");
      const own = forms(catalogue[key]);
      expect(own.at(-1)?.trim(), key).toBeTruthy();
      expect(parameters(own.at(-1) ?? ""), key).toEqual(full);
      for (const form of own) for (const name of parameters(form)) expect(full, key).toContain(name);
    }
  });

  it("is translated: few texts are the English ones", async () => {
    if (language === "en") return;
    const catalogue = await loadCatalogue(language);
    const keys = Object.keys(en) as MessageKey[];
    const same = keys.filter((key) => JSON.stringify(catalogue[key]) === JSON.stringify(english[key]));
    expect(same.length / keys.length).toBeLessThan(0.12);
  });

  it("has a name of its own", () => {
    expect(LANGUAGE_NAMES[language]).toBeTruthy();
  });
});

describe("render", () => {
  it("fills in parameters and leaves unknown ones alone", () => {
    expect(render(en, "en", "jobs.since", { moment: "16:40" })).toBe("since 16:40");
    expect(render(en, "en", "jobs.since")).toBe("since {moment}");
  });

  it("chooses the plural form and writes the count as the locale does", () => {
    expect(render(en, "en", "jobs.count", { count: 1 })).toBe("1 job");
    expect(render(en, "en", "jobs.count", { count: 5000 })).toBe("5,000 jobs");
  });

  it("does not read parameters inside parameters", () => {
    expect(render(en, "en", "jobs.select", { name: "{moment}", moment: "x" })).toBe("Select {moment}");
  });
});

describe("chooseLanguage", () => {
  it.each([
    [["ja-JP", "en"], "ja"],
    [["pt-PT"], "pt-BR"],
    [["pt-br"], "pt-BR"],
    [["de", "it-CH", "en"], "it"],
    [["de"], "en"],
    [[], "en"],
  ])("%j gives %s", (wanted, language) => {
    expect(chooseLanguage(wanted as string[])).toBe(language);
  });
});
