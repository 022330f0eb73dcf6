/** Alerts that fire, and silences (D53): one text for all servers. */
export interface AlertStore {
	read(): Promise<string | undefined>;
	/** False, without a change, if the text is no longer `from`. */
	replace(q: { from: string | undefined; to: string }): Promise<boolean>;
}
