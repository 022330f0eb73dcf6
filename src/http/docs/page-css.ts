/** Style of `/docs`: light and dark by the reader's setting; from 360 px. */
export const DOCS_CSS = `
:root{--paper:#fbfcfd;--card:#fff;--ink:#16222b;--soft:#55656f;--line:#dde5ea;--accent:#0b7285;--wash:#e9f4f6;
  --code:#0f1d26;--codeink:#e3eef3;--needed:#a63d00;
--get:#0b7285;--post:#2b7a3d;--patch:#8a5a00;--delete:#b02a37;
  --mono:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace}
@media (prefers-color-scheme:dark){:root{--paper:#0d151b;--card:#131e26;--ink:#e2ebf0;--soft:#93a5b0;--line:#24333d;
  --accent:#5cc8dc;--wash:#12303a;--code:#070d11;--codeink:#d5e4ea;--needed:#ffa56b;
--get:#5cc8dc;--post:#76d18b;--patch:#e8b458;--delete:#ff8f99}}
*{box-sizing:border-box}
html{scroll-behavior:smooth;scroll-padding-top:4.5rem;-webkit-text-size-adjust:100%}
@media (prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
body{margin:0;background:var(--paper);color:var(--ink);
  font:16px/1.6 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
a{color:var(--accent);text-underline-offset:.2em}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:4px}
code,pre,var,.path,.type,.media{font-family:var(--mono)}
code{font-size:.875em;overflow-wrap:anywhere}
.skip{position:absolute;left:-999px}
.skip:focus{left:1rem;top:.5rem;z-index:3;background:var(--card);padding:.5rem 1rem}
.top{position:sticky;top:0;z-index:2;display:flex;align-items:center;gap:.75rem;padding:.7rem clamp(1rem,3vw,2rem);
  background:var(--paper);border-bottom:1px solid var(--line)}
.brand{display:flex;align-items:center;gap:.55rem;font-weight:650;letter-spacing:-.01em;color:var(--ink);
  text-decoration:none}
.brand rect{fill:var(--accent)}.brand path{fill:none;stroke:var(--paper);stroke-width:2.4}
.version{color:var(--soft);font-size:.875rem}.raw{margin-left:auto;font:.875rem var(--mono)}
.columns{display:grid;grid-template-columns:minmax(0,1fr);max-width:86rem;margin:auto}
nav{padding:1rem clamp(1rem,3vw,2rem) 0;font-size:.875rem}
nav summary{cursor:pointer;font-weight:600;padding:.3rem 0}
nav h2{margin:1.1rem 0 .25rem;font-size:.75rem;text-transform:uppercase;letter-spacing:.07em}
nav h2 a{color:var(--soft);text-decoration:none}
nav ul{list-style:none;margin:0;padding:0}
nav li a{display:flex;gap:.55rem;align-items:baseline;padding:.16rem .4rem;margin-left:-.4rem;border-radius:6px;
  color:var(--ink);text-decoration:none;font-family:var(--mono);font-size:.8125rem;overflow-wrap:anywhere}
nav li a:hover{background:var(--wash)}
main{padding:1rem clamp(1rem,3vw,2.5rem) 6rem;min-width:0}
h1{font-size:clamp(1.9rem,5vw,2.6rem);line-height:1.15;letter-spacing:-.025em;margin:1rem 0}
h2{letter-spacing:-.015em;line-height:1.25}
.intro{max-width:46rem}.intro h2{margin-top:2rem;font-size:1.15rem}
.group>h2{font-size:1.6rem;margin:3.5rem 0 .25rem}.group>p{color:var(--soft);margin:0 0 1.25rem}
form{display:flex;flex-wrap:wrap;gap:.5rem .6rem;align-items:center;margin:1rem 0}
label{font-size:.9rem;color:var(--soft)}
input,button{font:inherit;color:inherit;border:1px solid var(--line);border-radius:8px;padding:.4rem .7rem;
  background:var(--card);min-width:0}
input{font-family:var(--mono);font-size:.875rem;flex:0 1 14rem}
button{background:var(--accent);border-color:var(--accent);color:var(--paper);font-weight:600;cursor:pointer}
article{background:var(--card);border:1px solid var(--line);border-radius:14px;
  padding:1.1rem clamp(.9rem,2.5vw,1.5rem) .6rem;margin:0 0 1.1rem}
article:target{border-color:var(--accent);box-shadow:0 0 0 3px var(--wash)}
h3{margin:0;font-size:1rem;font-weight:500}
h3 a{display:flex;flex-wrap:wrap;gap:.4rem .7rem;align-items:baseline;color:inherit;text-decoration:none}
.path{font-size:.9375rem;overflow-wrap:anywhere}var{font-style:normal;color:var(--accent)}
.verb{flex:none;font:700 .6875rem var(--mono);text-transform:uppercase;letter-spacing:.04em;min-width:4.1em;
  color:var(--get)}
h3 .verb{padding:.16rem .5rem;border:1px solid currentColor;border-radius:6px;text-align:center}
.verb.post{color:var(--post)}.verb.patch{color:var(--patch)}.verb.delete{color:var(--delete)}
.summary{margin:.6rem 0 0}.notes,.twin{margin:.1rem 0 0;color:var(--soft);font-size:.875rem}.twin{margin-bottom:.7rem}
pre{margin:.8rem 0;padding:.8rem 1rem;border-radius:10px;background:var(--code);color:var(--codeink);
  font-size:.8125rem;line-height:1.55;overflow-x:auto;-webkit-user-select:all;user-select:all}
pre code{font-size:inherit;overflow-wrap:normal}
.fold{border-top:1px solid var(--line)}.fold>summary{padding:.5rem 0}.fold>div{padding-bottom:.7rem}
details summary{cursor:pointer;font-size:.875rem;font-weight:600;color:var(--soft)}
details[open]>summary{color:var(--ink)}summary::marker{color:var(--accent)}
.fold p{margin:.2rem 0 .6rem;font-size:.9rem}.media{color:var(--soft);font-size:.8125rem!important}
table{border-collapse:collapse;width:100%;font-size:.875rem;line-height:1.45}
th{text-align:left;font-weight:600;color:var(--soft);font-size:.75rem}
th,td{overflow-wrap:anywhere;padding:.4rem .9rem .4rem 0;vertical-align:top;border-bottom:1px solid var(--line)}
tr:last-child>td{border-bottom:0}
td td,td th{padding-left:.6rem}
@media (min-width:44.01rem){td:first-child>code,td:first-child>.needed{white-space:nowrap}}
.type{font-size:.78rem;color:var(--soft)}td.type{min-width:9rem;max-width:20rem}.bound{display:block}
.needed{color:var(--needed);font-size:.72rem;font-weight:600}
@media (max-width:44rem){nav details{max-height:11.5rem;overflow:auto;border-bottom:1px solid var(--line)}
thead{display:none}table,tbody,tr,td{display:block}td{border:0;padding:.1rem 0}
tr{padding:.5rem 0;border-bottom:1px solid var(--line)}tr:last-child{border:0}td td{padding-left:.6rem}
.bound{display:inline}.bound::before{content:" · "}}
@media (min-width:64rem){.columns{grid-template-columns:18rem minmax(0,1fr)}
nav{position:sticky;top:3.2rem;align-self:start;max-height:calc(100vh - 3.2rem);overflow:auto;padding-bottom:2rem;
  border-right:1px solid var(--line)}
nav details>summary{display:none}}
@media print{nav,.top,form{display:none}article{break-inside:avoid}}
`;
