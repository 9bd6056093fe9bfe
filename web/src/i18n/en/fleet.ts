export default {
  "fleet.title": "Fleet",
} as const;
