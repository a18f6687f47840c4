/// The page of a report, as Mustache fills it.
enum ReportTemplate {
  static let text = """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Conifer storage benchmark</title>
    <style>
    :root { --ground: #fff; --ink: #1a1f1c; --dim: #5c6660; --rule: #d9dedb;
      --backend: #2f7d5b; --variant: #8bb9a3; --raw: #a9b0b6; --spread: #1a1f1c; --short: #b3401e; }
    @media (prefers-color-scheme: dark) {
      :root { --ground: #14181a; --ink: #e4e8e6; --dim: #9aa5a0; --rule: #333b3a;
        --backend: #4fae85; --variant: #3c6b57; --raw: #6a7379; --spread: #e4e8e6; --short: #f0906b; }
    }
    body { margin: 0 auto; max-width: 46rem; padding: 2rem 1rem 4rem; background: var(--ground);
      color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
    h1 { font-size: 1.7rem; margin: 0 0 .5rem; }
    h2 { margin: 3rem 0 0; border-bottom: 1px solid var(--rule); padding-bottom: .3rem; }
    h3 { margin: 2rem 0 .2rem; }
    h4 { margin: 1.4rem 0 0; font-size: 1rem; }
    p.facts, figcaption, summary { color: var(--dim); font-size: .875rem; }
    p.facts { margin: 0; }
    figure { margin: 0; }
    svg.chart { display: block; width: 100%; height: auto; margin: .3rem 0; }
    svg text { fill: var(--ink); font-size: 13px; font-family: inherit; }
    svg text.name { text-anchor: end; }
    .bar.backend { fill: var(--backend); } .bar.variant { fill: var(--variant); }
    .bar.raw { fill: var(--raw); }
    .spread { stroke: var(--spread); stroke-width: 1.5; fill: none; }
    .key span { display: inline-block; width: .8rem; height: .8rem; margin: 0 .3rem 0 1rem; }
    .scroll { overflow-x: auto; }
    table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
    th, td { padding: .2rem .7rem .2rem 0; text-align: right; white-space: nowrap; }
    th:first-child, td:first-child, table.bars td, table.bars th { text-align: left; }
    table.bars td { white-space: normal; }
    th { color: var(--dim); font-weight: 500; } tr { border-bottom: 1px solid var(--rule); }
    td.short { color: var(--short); font-weight: 600; }
    </style>
    </head>
    <body>
    <h1>Conifer storage benchmark</h1>
    {{#facts}}<p class="facts">{{.}}</p>
    {{/facts}}
    <p class="key facts">Bars are medians of the rounds; the thin line spans the slowest and the fastest.
    <span style="background:var(--backend)"></span>Conifer
    <span style="background:var(--variant)"></span>other options
    <span style="background:var(--raw)"></span>raw, one leaf a row</p>
    {{#bars.empty()}}{{/bars.empty()}}{{^bars.empty()}}<h2>Bars</h2>
    <p class="facts">Ratios to raw LMDB with one leaf a row where no unit stands, every commit .power.</p>
    <div class="scroll"><table class="bars"><thead><tr><th>bar</th><th>asked</th><th>reached</th><th></th></tr></thead><tbody>
    {{#bars}}<tr><td>{{title}}</td><td>{{asked}}</td><td>{{reached}}</td><td class="{{verdict}}">{{verdict}}</td></tr>
    {{/bars}}</tbody></table></div>{{/bars.empty()}}
    {{#tables}}
    <h2>Every commit .{{durability}}</h2>
    {{#cautions}}<p>{{.}}</p>{{/cautions}}
    {{#workloads}}
    <h3>{{name}}. {{title}}</h3>
    {{#lines}}
    <h4>{{title}}</h4>
    <figure><figcaption>{{caption}}</figcaption>{{{chart}}}</figure>
    <details><summary>Figures</summary><div class="scroll"><table>
    <thead><tr><th></th><th>median</th><th>lowest</th><th>highest</th><th>p50 µs</th><th>p99 µs</th><th>max µs</th><th>flushes a call</th><th>bytes a call</th></tr></thead><tbody>
    {{#rows}}<tr><td>{{name}}</td><td>{{value}}</td><td>{{lowest}}</td><td>{{highest}}</td><td>{{p50}}</td><td>{{p99}}</td><td>{{longest}}</td><td>{{flushes}}</td><td>{{written}}</td></tr>
    {{/rows}}</tbody></table></div></details>
    {{/lines}}
    {{/workloads}}
    {{/tables}}
    <h2>Raw record</h2>
    <p class="facts">Every pass of every engine, as JSON, is in this page: the element with the id “record”.</p>
    <script type="application/json" id="record">{{{json}}}</script>
    </body>
    </html>
    """
}
