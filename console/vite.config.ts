/**
 * How the console is built: one page with relative addresses, so that it works from any path behind
 * a proxy.
 */
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

/**
 * The component library brings its few sentences in 30 languages; the console speaks English
 * (`I18nProvider` in main.tsx).
 */
const LOCALE = /\/(?:react-aria|react-aria-components|react-stately)\/.*\/(?!en-US)[a-z]{2}-[A-Z]{2}\.m?js$/;

const englishOnly: Plugin = {
	name: "english-only",
	enforce: "pre",
	load: (id) => (LOCALE.test(id) ? "export default undefined;" : null),
};

export default defineConfig({
	root: fileURLToPath(new URL(".", import.meta.url)),
	base: "./",
	plugins: [englishOnly],
	build: {
		outDir: fileURLToPath(new URL("../dist/console", import.meta.url)),
		emptyOutDir: true,
		target: "es2024",
		cssTarget: ["chrome123", "firefox120", "safari17.5"],
		assetsInlineLimit: 0,
		modulePreload: { polyfill: false },
		reportCompressedSize: false,
	},
});
