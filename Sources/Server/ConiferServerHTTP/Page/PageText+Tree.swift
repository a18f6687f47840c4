extension PageText {
  /// The tree: what is loaded, the rows, and the keys that move in it.
  static let tree = #"""
    // Loads all open nodes in one request; one at a time, and once more when asked meanwhile.
    async function refresh() {
      if (refresh.runs) { refresh.again = true; return refresh.runs; }
      refresh.runs = (async () => {
        do { refresh.again = false; await load(); } while (refresh.again);
      })().catch(failed).finally(() => { refresh.runs = null; });
      return refresh.runs;
    }
    async function load() {
      const [space, root] = [S.space, S.root];
      const inner = [...S.open].filter((path) => path !== root && within(path, root));
      const paths = [root, ...inner].slice(0, 500);
      const parts = await (isDocuments() ? documentWindows(paths) : nodeWindows(paths));
      if (space !== S.space || root !== S.root) { refresh.again = true; return; }
      const old = S.windows;
      S.windows = new Map();
      parts.forEach((part, number) => {
        const path = paths[number];
        const window = part.window ? { tag: part.tag, ...part.window } : old.get(path);
        if (window.item.type === 'object' || path === root) S.windows.set(path, window);
        else S.open.delete(path);
      });
      render();
    }
    async function nodeWindows(paths) {
      const windows = paths.map((path) => ({ path, limit: S.limits.get(path) || PAGE,
        known: (S.windows.get(path) || {}).tag || '' }));
      const response = await ask(own('windows.json'),
        { method: 'POST', body: JSON.stringify({ windows }) });
      return (await response.json()).windows;
    }

    function listRows() {
      const rows = [];
      const edit = (path, level) => {
        if (S.edit && S.edit.path === path) rows.push({ id: path + '/.edit', form: true, level });
      };
      const visit = (path, item, level, position, count) => {
        const isOpen = item.type === 'object' && S.open.has(path);
        const window = isOpen && S.windows.get(path);
        // Of what is closed a database of documents tells less.
        if (window && isDocuments()) item = { ...item, ...window.item, key: item.key };
        rows.push({ id: path, path, item, level, position, count, isOpen });
        edit(path, level);
        if (!window) return;
        const all = window.item.count === undefined ? -1 : window.item.count;
        window.children.forEach((child, index) =>
          visit(join(path, child.key), child, level + 1, index + 1, all));
        if (window.more) {
          rows.push({ id: path + '/.more', more: path, level: level + 1, count: all,
            here: window.children.length, position: window.children.length + 1 });
        }
      };
      const top = S.windows.get(S.root);
      if (top) visit(S.root, top.item, 0, 1, 1);
      // What is edited may be gone: what was typed stays.
      if (S.edit && !rows.some((row) => row.form)) edit(S.edit.path, 0);
      return rows;
    }

    function render() {
      const tree = $('tree');
      const hadFocus = tree.contains(document.activeElement);
      const before = S.rows.findIndex((row) => row.id === S.chosen);
      S.rows = listRows();
      const ids = new Set(S.rows.map((row) => row.id));
      if (!ids.has(S.chosen)) {
        // What is chosen is gone: choose what stands in its place.
        const near = S.rows.filter((row) => !row.form)[Math.max(0, before)];
        const parent = above(S.chosen);
        S.chosen = near && near.path && above(near.path) === parent ? near.id
          : ids.has(parent) ? parent : S.root;
      }
      for (const [id, node] of S.nodes) {
        if (!ids.has(id)) { node.remove(); S.nodes.delete(id); }
      }
      let place = tree.firstChild;
      for (const row of S.rows) {
        let node = S.nodes.get(row.id);
        if (!node) {
          node = row.form ? editor() : rowNode(row);
          S.nodes.set(row.id, node);
        }
        node.style.setProperty('--level', row.level);
        if (!row.form) update(node, row);
        if (node === place) place = place.nextSibling; else tree.insertBefore(node, place);
      }
      const node = S.nodes.get(S.chosen);
      if (hadFocus && node && !tree.contains(document.activeElement)) node.focus();
      buttons();
    }

    function rowNode(row) {
      const node = el('div', { role: 'treeitem', class: 'row' });
      node.append(el('span', { class: 'twist', 'aria-hidden': 'true' }), el('span', { class: 'key' }),
        el('span', { class: 'value' }), el('span', { class: 'note' }));
      node.addEventListener('click', (event) => {
        S.steps += 1;
        choose(row.id);
        if (row.more) return more(row.more);
        if (event.target.className === 'twist') toggle(row.path);
      });
      node.addEventListener('dblclick', () => { if (!row.more) enter(row.path); });
      return node;
    }

    function update(node, row) {
      const isChosen = row.id === S.chosen;
      node.tabIndex = isChosen ? 0 : -1;
      node.setAttribute('aria-selected', isChosen);
      const looks = JSON.stringify([row.item, row.level, row.position, row.count, row.isOpen,
        row.here]);
      if (node.looks === looks) return;
      const isFirst = node.looks === undefined;
      node.looks = looks;
      node.setAttribute('aria-level', row.level + 1);
      node.setAttribute('aria-posinset', row.position);
      node.setAttribute('aria-setsize', row.count);
      const [twist, key, value, note] = node.children;
      if (row.more) {
        const left = row.count < 0 ? 'more' : (row.count - row.here).toLocaleString('en') + ' more';
        key.textContent = '… ' + left;
        return;
      }
      const item = row.item;
      if (item.type === 'object') node.setAttribute('aria-expanded', row.isOpen);
      else node.removeAttribute('aria-expanded');
      twist.textContent = item.type === 'object' ? (row.isOpen ? '▾' : '▸') : '';
      const name = keysOf(row.path).pop();
      key.textContent = (name === undefined ? S.space || '/' : shown(cut(nameOf(name), 256))) + ':';
      const words = valueWords(item);
      if (!isFirst && value.textContent !== words) {
        node.classList.remove('fresh');
        void node.offsetWidth;
        node.classList.add('fresh');
      }
      value.className = 'value ' + (item.look || item.type);
      value.textContent = words;
      note.textContent = item.note || (item.priority === undefined ? '' : 'priority ' + item.priority);
    }
    function valueWords(item) {
      if (item.words !== undefined) return item.words;
      if (item.type === 'string') return JSON.stringify(item.text) + (item.cut ? ' …' : '');
      if (item.type !== 'object') return item.text || 'null';
      if (item.count === undefined) return '{…}';
      const size = item.bytes === undefined ? '' : ', ' + bytes(item.bytes);
      return '{' + (item.count === 1 ? '1 child' : item.count.toLocaleString('en') + ' children')
        + size + '}';
    }

    // MARK: moving

    const rowOf = (id) => S.rows.find((row) => row.id === id);
    const itemOf = (path) => (rowOf(path) || {}).item;
    function choose(id, focus = true) {
      const old = S.chosen;
      S.chosen = id;
      for (const one of [old, id]) {
        const [node, row] = [S.nodes.get(one), rowOf(one)];
        if (node && row) update(node, row);
      }
      if (focus) backToTree();
      buttons();
    }
    function backToTree() {
      const node = S.nodes.get(S.chosen);
      if (!node || $('panel-data').hidden || S.edit) return;
      node.focus({ preventScroll: true });
      node.children[1].scrollIntoView({ block: 'nearest', inline: 'nearest' });
    }
    function toggle(path) {
      if (!itemOf(path) || itemOf(path).type !== 'object') return;
      if (!S.open.delete(path)) S.open.add(path);
      render();
      if (S.open.has(path)) return refresh();
    }
    function more(path) {
      const window = S.windows.get(path);
      const here = window.children.length;
      if (here >= 5000) {
        return say('The page lists 5,000 children. Write a path above to go to another one.');
      }
      S.limits.set(path, Math.min(5000, here + (here < 1000 ? PAGE : 1000)));
      const last = window.children[here - 1].key;
      return refresh().then(() => {
        const children = (S.windows.get(path) || { children: [] }).children;
        const next = children[children.findIndex((child) => child.key === last) + 1];
        if (next) choose(join(path, next.key));
      });
    }
    // Shows a node as the top of the tree.
    function go(path) {
      S.root = path;
      S.open.add(path);
      S.chosen = path;
      S.edit = null;
      S.windows = new Map();
      show('data');
      $('path').value = path;
      remember();
      render();
      return refresh();
    }
    function enter(path) {
      const item = itemOf(path);
      if (!item) return;
      if (item.type === 'object') return toggle(path);
      if (S.facts.writable) return edit(path);
    }

    let typed = { text: '', at: 0 };
    function typeAhead(letter) {
      const now = Date.now();
      typed = { text: (now - typed.at < 700 ? typed.text : '') + letter.toLowerCase(), at: now };
      const rows = S.rows.filter((row) => row.path);
      const start = rows.findIndex((row) => row.id === S.chosen) + (typed.text.length > 1 ? 0 : 1);
      const order = [...rows.slice(start), ...rows.slice(0, start)];
      const found = order.find((row) =>
        nameOf(keysOf(row.path).pop() || '').toLowerCase().startsWith(typed.text));
      if (found) choose(found.id);
    }

    $('tree').addEventListener('keydown', (event) => {
      if (event.target.closest('.editor')) return;
      S.steps += 1;
      const rows = S.rows.filter((row) => !row.form);
      const at = rows.findIndex((row) => row.id === S.chosen);
      const row = rows[at];
      if (!row) return;
      const move = (index) => choose(rows[Math.max(0, Math.min(rows.length - 1, index))].id);
      const plain = !event.ctrlKey && !event.metaKey && !event.altKey;
      const writes = S.facts.writable && row.path;
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'z') undo();
      else if (!plain) return;
      else if (event.key === 'ArrowDown') move(at + 1);
      else if (event.key === 'ArrowUp') move(at - 1);
      else if (event.key === 'Home') move(0);
      else if (event.key === 'End') move(rows.length - 1);
      else if (event.key === 'PageDown') move(at + 20);
      else if (event.key === 'PageUp') move(at - 20);
      else if (event.key === 'ArrowRight') {
        if (!row.path || row.item.type !== 'object') return;
        if (!row.isOpen) toggle(row.path); else move(at + 1);
      } else if (event.key === 'ArrowLeft') {
        if (row.isOpen) toggle(row.path);
        else if (row.id !== S.root) choose(row.more || above(row.path));
      } else if (event.key === 'Enter') { if (row.more) more(row.more); else enter(row.path); }
      else if (event.key === 'F2' && writes) edit(row.path);
      else if ((event.key === 'Insert' || event.key === '+') && writes) add(row.path);
      else if (event.key === 'Delete' && writes) remove(row.path);
      else if (event.key.length === 1 && event.key !== ' ') typeAhead(event.key);
      else return;
      event.preventDefault();
    });
    """#
}
