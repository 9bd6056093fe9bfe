import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { trim } from "./trim";

const server = process.env.HEADWAY_URL ?? "http://127.0.0.1:7447";

export default defineConfig({
  plugins: [react(), trim()],
  // No `data:` fonts or scripts: the Content-Security-Policy allows none.
  build: { target: "es2022", sourcemap: false, assetsInlineLimit: 0, chunkSizeWarningLimit: 1024 },
  worker: { format: "es" },
  server: { proxy: { "/api": server, "/login": server } },
});
