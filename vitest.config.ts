import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts"],
    globalSetup: ["./test/support/postgres-run.ts"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    reporters: ["default", "./test/support/closing-line.ts"],
  },
});
