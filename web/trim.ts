/**
 * Drops from PatternFly's styles what the dashboard never uses: themes besides light and dark, fonts of icons (icons are SVG
 * here), italic faces, and custom properties that nothing reads. Browsers match every rule against every element, so fewer
 * are not only fewer bytes.
 */
import postcss, { type Declaration, type Root } from "postcss";
import type { Plugin } from "vite";

const UNUSED_THEMES = /\.pf-v6-theme-(?!dark\b)[\w-]+/;
const UNUSED_FACES = /pficon|font-style:\s*italic/;

/** Leaves out rules of unused themes and font faces; returns whether anything of a rule is left. */
export function dropUnusedRules(root: Root): void {
  root.walkRules((rule) => {
    const kept = rule.selectors.filter((selector) => !UNUSED_THEMES.test(selector.replace(/:not\([^)]*\)/g, "")));
    if (kept.length === 0) rule.remove();
    else if (kept.length < rule.selectors.length) rule.selectors = kept;
  });
  root.walkAtRules("font-face", (face) => {
    if (UNUSED_FACES.test(face.toString())) face.remove();
  });
}

/** Leaves out custom properties that are read neither by a style (`var(--x)`), nor by a script that names them. */
export function dropUnusedProperties(roots: readonly Root[], scripts: readonly string[]): void {
  const named = new Set(scripts.flatMap((script) => script.match(/--[\w-]+/g) ?? []));
  for (let dropped = 1; dropped > 0; ) {
    dropped = 0;
    const read = new Set(named);
    for (const root of roots) {
      root.walkDecls((declaration) => {
        for (const [, name] of declaration.value.matchAll(/var\(\s*(--[\w-]+)/g)) if (name) read.add(name);
      });
    }
    const unread = (declaration: Declaration) => declaration.prop.startsWith("--") && !read.has(declaration.prop);
    for (const root of roots) {
      root.walkDecls(/^--/, (declaration) => {
        if (!unread(declaration)) return;
        declaration.remove();
        dropped += 1;
      });
    }
  }
  for (const root of roots) root.walkRules((rule) => void (rule.nodes.length === 0 && rule.remove()));
}

/** The Vite plugin: works on the finished bundle, where everything that could use a style is known. */
export function trim(): Plugin {
  return {
    name: "headway-trim",
    apply: "build",
    enforce: "post",
    generateBundle(_, bundle) {
      const files = Object.values(bundle);
      const styles = files.filter((file) => file.type === "asset" && file.fileName.endsWith(".css"));
      const scripts = files.filter((file) => file.type === "chunk").map((file) => file.code);
      const roots = styles.map((file) => postcss.parse(String((file as { source: string | Uint8Array }).source)));
      for (const root of roots) dropUnusedRules(root);
      dropUnusedProperties(roots, scripts);
      styles.forEach((file, index) => {
        (file as { source: string | Uint8Array }).source = roots[index]?.toString() ?? "";
      });
      const text = [...roots.map((root) => root.toString()), ...scripts].join("\n");
      for (const file of files) {
        const page = bundle["index.html"];
        const inPage = page?.type === "asset" && String(page.source).includes(file.fileName);
        const isMedia = /\.(woff2|svg|png)$/.test(file.fileName);
        const name = file.fileName.split("/").at(-1) ?? "";
        if (isMedia && !inPage && !text.includes(name)) delete bundle[file.fileName];
      }
    },
  };
}
