/** What a panel of Grafana is, and what the lists of panels share. */

export interface Panel {
	title: string;
	/** Where it says what the title cannot: a sentence. */
	description: string;
	kind: "stat" | "timeseries";
	/** Unit of Grafana. */
	unit: "bytes" | "Bps" | "ops" | "percentunit" | "s" | "short";
	/** PromQL. */
	query: string;
	/** Labels in braces are replaced; by default all labels. */
	legend?: string;
}

type Rest = Pick<Panel, "title" | "description" | "unit" | "query" | "legend">;
export const stat = (panel: Rest): Panel => ({ kind: "stat", ...panel });
export const lines = (panel: Rest): Panel => ({ kind: "timeseries", ...panel });

export const rate = (series: string): string => `rate(${series}[$__rate_interval])`;
export const quantile = (q: number, by: string, series: string): string =>
	`histogram_quantile(${q}, sum by (${by}, le) (${rate(series)}))`;

/** Selectors of what the reader has chosen. */
export const EP = 'endpoint=~"$endpoint"';
export const AT = 'instance=~"$instance"';
