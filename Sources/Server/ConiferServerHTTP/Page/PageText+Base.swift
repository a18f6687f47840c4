extension PageText {
  /// State, requests and texts.
  static let base = #"""
    'use strict';
    const $ = (id) => document.getElementById(id);
    const S = { facts: null, space: '', root: '/', chosen: '/', view: 'data', open: new Set(['/']),
      windows: new Map(), limits: new Map(), rows: [], nodes: new Map(), edit: null, undo: [],
      version: null, samples: [], pulse: null, control: null, token: 'owner',
      // How often the user moved in the tree, or pressed a key there.
      steps: 0 };
    const PAGE = 200;

    // Makes an element. Data becomes text nodes and attributes, never markup.
    function el(tag, attributes, ...children) {
      const node = document.createElement(tag);
      for (const [name, value] of Object.entries(attributes || {})) {
        if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
        else if (value !== null && value !== undefined && value !== false) {
          node.setAttribute(name, value === true ? '' : value);
        }
      }
      node.append(...children.filter((child) => child !== null && child !== undefined));
      return node;
    }

    // Keys hold no slash, so that a path is a text.
    const join = (path, key) => (path === '/' ? '/' : path + '/') + key;
    const keysOf = (path) => path.split('/').filter((key) => key !== '');
    const pathOf = (keys) => '/' + keys.join('/');
    const above = (path) => pathOf(keysOf(path).slice(0, -1));
    const within = (path, top) => top === '/' || path === top || path.startsWith(top + '/');

    // A text as it is, or in quotes with escapes when something in it would not be seen.
    function shown(text) {
      if (text !== '' && !/^ | $|[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u.test(text)) return text;
      return JSON.stringify(text).replace(/[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu,
        (scalar) => '\\u{' + scalar.codePointAt(0).toString(16) + '}');
    }
    const plural = (count, word) => count.toLocaleString('en') + ' ' + word
      + (count === 1 ? '' : word.endsWith('h') ? 'es' : 's');
    function bytes(count) {
      if (count < 1024) return count + ' B';
      const units = ['KB', 'MB', 'GB', 'TB'];
      let unit = -1;
      do { count /= 1024; unit += 1; } while (count >= 1024 && unit < 3);
      return count.toFixed(1) + ' ' + units[unit];
    }
    function age(milliseconds) {
      const seconds = Math.max(0, Math.round(milliseconds / 1000));
      if (seconds < 120) return seconds + ' s';
      if (seconds < 7200) return Math.floor(seconds / 60) + ' min';
      return seconds < 172800 ? Math.floor(seconds / 3600) + ' h'
        : Math.floor(seconds / 86400) + ' d';
    }

    class Refused extends Error {
      constructor(status, words, word) { super(words); Object.assign(this, { status, word }); }
    }
    async function ask(url, options = {}) {
      const headers = { Authorization: 'Bearer ' + S.token, ...options.headers };
      let response;
      try {
        response = await fetch(url, { cache: 'no-store', redirect: 'error', ...options, headers });
      } catch (error) {
        throw error.name === 'AbortError' ? error : new Refused(0, 'The server does not answer.');
      }
      if (response.ok) return response;
      let given = 'The server answered ' + response.status + '.';
      // Documents' REST has a message and a word in its errors, in a list where the answer would be one.
      try { given = [JSON.parse(await response.text())].flat()[0].error || given; } catch { }
      throw new Refused(response.status, given.message || given, given.status);
    }
    // A server makes a database ready that is named by ns; a store's trees may have any names.
    const own = (name, query = {}) => {
      const named = S.facts && S.facts.writable && !isDocuments() ? { ns: S.space } : {};
      return '/.conifer/' + name + '?'
        + new URLSearchParams({ ...named, ...(S.space ? { space: S.space } : {}), ...query });
    };
    const rest = (path, query = {}) => {
      const place = keysOf(path).map(encodeURIComponent).join('/');
      return '/' + place + '.json?' + new URLSearchParams({ ns: S.space, ...query });
    };

    function say(words, undo) {
      $('toast-words').textContent = words;
      $('undo').hidden = !undo;
      $('toast').hidden = false;
      clearTimeout(say.timer);
      if (!undo) say.timer = setTimeout(hush, 8000);
    }
    function hush() { $('toast').hidden = true; }
    const failed = (error) => { if (error.name !== 'AbortError') say(error.message); };

    // Asks a question after earlier ones are answered, and returns the answer, or null.
    let asked = Promise.resolve();
    function question(words, yes, answer) {
      asked = asked.then(() => put(words, yes, answer));
      return asked;
    }
    function put(words, yes, answer) {
      const dialog = $('dialog');
      $('question').textContent = words;
      $('yes').textContent = yes;
      $('answer').hidden = answer === undefined;
      $('answer').value = answer || '';
      return new Promise((resolve) => {
        let isOver = false;
        const end = (given) => {
          if (isOver) return;
          isOver = true;
          dialog.close();
          resolve(given);
          backToTree();
        };
        $('yes').onclick = () => end($('answer').value);
        $('no').onclick = () => end(null);
        $('answer').onkeydown = (event) => { if (event.key === 'Enter') $('yes').click(); };
        // The event comes some time after the closing, perhaps when the next question is asked.
        dialog.onclose = () => { if (!dialog.open) end(null); };
        dialog.showModal();
        (answer === undefined ? $('no') : $('answer')).focus();
      });
    }

    function remember() {
      const parts = new URLSearchParams({ ns: S.space, path: S.root, view: S.view });
      history.replaceState(null, '', '#' + parts);
    }
    """#
}
