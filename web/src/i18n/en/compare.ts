export default {
  "compare.title": "Compare",
} as const;
