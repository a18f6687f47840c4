extension PageText {
  /// The tables beside the tree, and the tabs.
  static let tables = #"""
    const T = { name: '', text: '', limit: PAGE, open: new Set() };
    async function loadTable() {
      const name = S.view;
      if (name === 'query') return;
      if (name === 'data' || loadTable.runs) return;
      loadTable.runs = true;
      try {
        const space = S.space;
        const table = await (await ask(own('table.json', { name, limit: T.limit }))).json();
        if (name === S.view && space === S.space) drawTable(name, table);
      } catch (error) { failed(error); } finally { loadTable.runs = false; }
    }
    function drawTable(name, table) {
      const { now, ...rest } = table;
      const text = JSON.stringify(rest) + T.limit;
      if (T.name !== name || T.text !== text) {
        const focused = document.activeElement && document.activeElement.dataset.place;
        T.name = name;
        T.text = text;
        $('table').replaceChildren(...tableNodes(table));
        const again = focused && [...$('table').querySelectorAll('[data-place]')]
          .find((node) => node.dataset.place === focused);
        if (again) again.focus();
      }
      for (const node of $('table').querySelectorAll('[data-time]')) {
        node.textContent = age(now - Number(node.dataset.time)) + ' ago';
      }
    }
    function tableNodes(table) {
      if (table.rows.length === 0) return [el('p', { class: 'empty' }, table.empty)];
      const isFigure = (cell) => typeof cell === 'number' || cell && cell.bytes !== undefined;
      const figures = table.columns.map((_, index) =>
        table.rows.some((row) => isFigure(row[index])) && 'figure');
      const heads = table.columns.map((column, index) =>
        el('th', { scope: 'col', class: figures[index] }, column));
      const rows = table.rows.map((row) => el('tr', {}, ...row.map((cell, index) =>
        el('td', { class: figures[index] }, cellNode(cell, row[0] + ' ' + index)))));
      const nodes = [el('table', {}, el('thead', {}, el('tr', {}, ...heads)),
        el('tbody', {}, ...rows))];
      if (table.more) {
        nodes.push(el('p', {}, el('button', { 'data-place': 'more', onclick: () => {
          T.limit = Math.min(5000, T.limit * 2);
          loadTable();
        } }, 'More than ' + plural(table.rows.length, 'row') + ': show more')));
      }
      return nodes;
    }
    function cellNode(cell, place) {
      if (cell === null) return '–';
      if (typeof cell === 'number') return cell.toLocaleString('en');
      if (typeof cell === 'string') return cell;
      if (cell.bytes !== undefined) return bytes(cell.bytes);
      if (cell.time !== undefined) {
        return el('span', { 'data-time': cell.time, title: new Date(cell.time).toISOString() });
      }
      if (cell.path !== undefined) {
        const link = el('button', { class: 'link', 'data-place': place + cell.path + cell.words,
          title: 'Show in the tree', onclick: () => go(cell.path).then(backToTree) },
          cell.path.split('/').map(shown).join('/') === '""' ? '/'
            : '/' + keysOf(cell.path).map(shown).join('/'));
        return el('span', {}, link, cell.words === '' ? null : ' ' + cell.words);
      }
      if (cell.list.length === 0) return '–';
      const details = el('details', {}, el('summary', { 'data-place': place },
        cell.of === undefined ? 'more than ' + cell.list.length : cell.of.toLocaleString('en')),
        el('ul', {}, ...cell.list.map((one, index) =>
          el('li', {}, cellNode(one, place + ' ' + index))),
          cell.of > cell.list.length
            ? el('li', {}, '… ' + (cell.of - cell.list.length).toLocaleString('en') + ' more') : null));
      details.open = T.open.has(place);
      details.addEventListener('toggle', () => {
        if (details.open) T.open.add(place); else T.open.delete(place);
      });
      return details;
    }

    // The views of what is shown: a database of documents has queries, a tree has tables.
    const views = () => isDocuments()
      ? [{ name: 'data', title: 'Documents' }, { name: 'query', title: 'Query' }]
      : [{ name: 'data', title: S.facts.writable ? 'Data' : 'Cache' }, ...S.facts.tables];
    const panelOf = (view) => view === 'data' || view === 'query' ? 'panel-' + view : 'panel-table';
    function show(view) {
      if (!S.facts) return;
      const names = views().map((one) => one.name);
      if (!names.includes(view)) view = 'data';
      if (S.view !== view) T.limit = PAGE;
      S.view = view;
      for (const name of names) {
        const tab = $('tab-' + name);
        tab.setAttribute('aria-selected', name === view);
        tab.tabIndex = name === view ? 0 : -1;
      }
      for (const panel of ['panel-data', 'panel-query', 'panel-table']) {
        $(panel).hidden = panel !== panelOf(view);
      }
      $(panelOf(view)).setAttribute('aria-labelledby', 'tab-' + view);
      if (view === 'query' && $('q-from').value === '') {
        const ids = placeOf(S.chosen).ids;
        $('q-from').value = ids.slice(0, ids.length - (ids.length + 1) % 2).map(idSegment).join('/');
      }
      if (panelOf(view) === 'panel-table' && T.name !== view) $('table').replaceChildren();
      remember();
      return loadTable();
    }
    function drawTabs() {
      document.body.classList.toggle('of-documents', isDocuments());
      $('tabs').replaceChildren(...views().map((table) => el('button', { role: 'tab',
        id: 'tab-' + table.name, onclick: () => show(table.name),
        'aria-controls': panelOf(table.name) }, table.title)));
    }
    $('tabs').addEventListener('keydown', (event) => {
      const tabs = [...$('tabs').children];
      const at = tabs.indexOf(document.activeElement);
      const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
      if (at < 0 || to === undefined) return;
      const tab = tabs[(to + tabs.length) % tabs.length];
      tab.focus();
      tab.click();
      event.preventDefault();
    });
    """#
}
