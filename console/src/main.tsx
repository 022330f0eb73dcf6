/**
 * The web console: one page; the address behind `#` selects what it shows. It speaks
 * `/v1` and `/v2` like any client.
 */
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { I18nProvider } from "react-aria-components";
import { App } from "./frame/app.tsx";
import { SessionGate } from "./frame/session-gate.tsx";
import "./styles/theme.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/menu.css";
import "./styles/buttons.css";
import "./styles/fields.css";
import "./styles/choices.css";
import "./styles/code.css";
import "./styles/states.css";
import "./styles/tables.css";
import "./styles/windows.css";
import "./styles/notices.css";
import "./styles/cards.css";
import "./styles/charts.css";
import "./styles/overview.css";
import "./styles/jobs.css";
import "./styles/json.css";
import "./styles/values.css";
import "./styles/compare.css";
import "./styles/logs.css";
import "./styles/pages.css";
import "./styles/playground.css";
import "./styles/settings.css";
import "./styles/requests.css";
import "./styles/job-rows.css";
import "./styles/job-page.css";
import "./styles/lanes.css";

try {
	Intl.getCanonicalLocales(navigator.language);
} catch {
	// Chrome with LANG=C says "en-US@posix". Libraries give it to `Intl`, which throws: uPlot while it loads.
	Object.defineProperty(navigator, "language", { value: "en-US" });
}

createRoot(document.querySelector("#root")!).render(
	<StrictMode>
		<I18nProvider locale="en-US">
			<SessionGate>
				<App />
			</SessionGate>
		</I18nProvider>
	</StrictMode>,
);
