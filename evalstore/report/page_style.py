"""The style of the HTML pages: light and dark, from 320 pixels up, and on paper; no fonts or images to load."""

STYLE = """
:root{color-scheme:light dark;--ink:#1c2024;--quiet:#5a636e;--paper:#fff;--panel:#f5f6f8;--edge:#d5d9df;
--up:#0a6b52;--down:#b1361e;--mark:#2456a6;--shade:#e7ecf5}
@media (prefers-color-scheme:dark){:root{--ink:#e6e8eb;--quiet:#a2abb6;--paper:#14171a;--panel:#1d2125;--edge:#3a4149;
--up:#4fc3a1;--down:#f08a70;--mark:#8ab4f8;--shade:#263042}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:76rem;padding:1rem;background:var(--paper);color:var(--ink);
font:1rem/1.45 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.05rem;margin:0;color:var(--quiet);font-weight:600}
h2{font-size:1.1rem;margin:2rem 0 .5rem}
h3{font-size:.95rem;margin:1rem 0 .3rem}
p{margin:.4rem 0}
.answer{font-size:1.3rem;line-height:1.35;margin:.3rem 0 1rem;max-width:60rem}
.quiet,caption,th{color:var(--quiet)}
.up{color:var(--up)}
.down{color:var(--down)}
table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
caption{text-align:left;padding:.2rem 0;font-size:.85rem}
th{text-align:left;font-weight:600;font-size:.85rem;overflow-wrap:normal}
th,td{padding:.3rem .5rem;border-bottom:1px solid var(--edge);vertical-align:top;unicode-bidi:isolate}
.n{text-align:right;white-space:nowrap}
td svg{display:block;width:100%;min-width:7rem;height:1.2rem}
td.bar{width:20%}
td.words{min-width:7rem}
.fall-up{fill:var(--up)}
.fall-down{fill:var(--down)}
.total{fill:var(--mark)}
.level{stroke:var(--edge);stroke-width:1}
code,pre{font-family:ui-monospace,monospace;font-size:.85rem}
pre{margin:0;padding:.5rem;background:var(--panel);border:1px solid var(--edge);white-space:pre-wrap;overflow:auto;
max-height:30rem;unicode-bidi:plaintext}
fieldset{border:1px solid var(--edge);padding:.5rem;margin:0 0 .6rem;display:grid;gap:.5rem;
grid-template-columns:repeat(auto-fit,minmax(9rem,1fr))}
fieldset label{display:grid;gap:.15rem;font-size:.85rem;min-width:0}
select{font:inherit;width:100%;min-width:0;padding:.25rem;color:inherit;background:var(--paper);
border:1px solid var(--edge)}
details{border:1px solid var(--edge);margin:0 0 .35rem}
summary{padding:.4rem .6rem;cursor:pointer;background:var(--panel)}
summary b{unicode-bidi:isolate}
details>div{padding:.3rem .6rem .7rem}
.two{display:grid;gap:.6rem;grid-template-columns:repeat(auto-fit,minmax(min(18rem,100%),1fr))}
.square{max-width:34rem}
.square td{text-align:center;background:var(--shade)}
.square td:empty{background:none}
ul{margin:.3rem 0;padding-left:1.2rem}
a{color:var(--mark)}
:focus-visible{outline:3px solid var(--mark);outline-offset:1px}
:target{background:var(--shade)}
.list{counter-reset:shown}
.list .q{counter-increment:shown}
.count:after{content:counter(shown)}
@media screen and (max-width:60rem){
.stack thead{position:absolute;clip-path:inset(50%);height:1px;width:1px;overflow:hidden}
.stack tr{display:block;padding:.35rem 0;border-bottom:1px solid var(--edge)}
.stack td,.stack tbody th{display:block;border:0;padding:.1rem 0;width:auto;text-align:left;white-space:normal}
.stack td[data-name]{display:grid;grid-template-columns:6.5rem 1fr;align-items:baseline}
.stack td[data-name]:before{content:attr(data-name);color:var(--quiet);font-size:.85rem}
.stack td:empty{display:none}
.stack tbody th{color:var(--ink);font-size:1rem}
td.bar{width:auto}
.stack td.words{min-width:0}
.answer{font-size:1.1rem}
}
@media print{
:root{--ink:#000;--quiet:#333;--paper:#fff;--panel:#fff;--edge:#999;--up:#0a6b52;--down:#b1361e;--mark:#2456a6;--shade:#eee}
html{font-size:9pt}
body{max-width:none;padding:0}
fieldset{display:none}
pre{max-height:none}
details::details-content{content-visibility:visible;block-size:auto}
details,tr{break-inside:avoid}
}
"""
