export default {
  "chart.reset": "Show all",
} as const;
