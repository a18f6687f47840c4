extension PageText {
  /// The update stream, the chart, the choice of a space, and the start.
  static let live = #"""
    function beat(pulse) {
      S.pulse = pulse;
      if (pulse.version !== S.version) {
        S.version = pulse.version;
        refresh();
        if (isDocuments() && Q.isRun) runQuery(true);
      }
      if (S.spaceCount !== undefined && pulse.spaces !== S.spaceCount) loadFacts().catch(failed);
      S.spaceCount = pulse.spaces;
      const isLate = !beat.at || pulse.now - beat.at >= 900;
      if (isLate) {
        beat.at = pulse.now;
        if (pulse.requests !== undefined) chart(pulse);
        else $('traffic').hidden = true;
        loadTable();
      }
      facts(pulse);
    }
    function facts(pulse) {
      const parts = pulse.requests === undefined ? [] : [plural(pulse.sessions, 'client'),
        plural(pulse.listens, 'listen'), plural(pulse.leaves, 'value') + ' in '
        + bytes(pulse.bytes), plural(pulse.requests, 'request') + ' with ' + bytes(pulse.received),
        plural(pulse.pushes, 'push') + ', ' + bytes(pulse.sent) + ' sent'];
      $('facts').textContent = parts.join(' · ');
    }
    function chart(pulse) {
      $('traffic').hidden = false;
      const last = S.samples[S.samples.length - 1];
      if (last && pulse.requests < last.requests) S.samples = [];
      S.samples.push({ at: pulse.now, requests: pulse.requests });
      if (S.samples.length > 61) S.samples.shift();
      const rates = S.samples.slice(1).map((sample, index) => {
        const before = S.samples[index];
        return (sample.requests - before.requests) * 1000 / Math.max(1, sample.at - before.at);
      });
      const most = Math.max(1, ...rates);
      const from = 60 - rates.length;
      const points = rates.map((rate, index) =>
        ((from + index) * 120 / 59).toFixed(1) + ',' + (27 - 25 * rate / most).toFixed(1));
      const svg = (name, value) => {
        const node = document.createElementNS('http://www.w3.org/2000/svg', name);
        node.setAttribute('points', value);
        return node;
      };
      const start = (from * 120 / 59).toFixed(1);
      $('chart').replaceChildren(
        svg('polygon', [start + ',28', ...points, '120,28'].join(' ')),
        svg('polyline', points.join(' ')));
      const now = Math.round(rates.length ? rates[rates.length - 1] : 0).toLocaleString('en');
      $('rate').textContent = now + ' requests/s';
      $('chart').setAttribute('aria-label', now + ' requests a second; at most '
        + Math.round(Math.max(0, ...rates)).toLocaleString('en') + ' in the last minute');
    }

    async function loadFacts() {
      const facts = await (await ask('/.conifer/info.json')).json();
      const isNew = JSON.stringify(facts) !== JSON.stringify(S.facts);
      S.facts = facts;
      if (!S.space) S.space = facts.begins;
      if (!isNew) return;
      document.body.classList.toggle('read-only', !facts.writable);
      document.title = facts.title;
      $('title').textContent = facts.title;
      $('space-word').textContent = facts.word;
      drawTabs();
      drawSpaces();
      show(S.view);
    }
    function drawSpaces() {
      const all = [...S.facts.spaces, ...(S.facts.databases || [])];
      const spaces = all.includes(S.space) || !S.space ? all : [...all, S.space];
      const options = spaces.map((space) => el('option', { value: space }, shown(space)));
      if (S.facts.writable) options.push(el('option', { value: '' }, 'another …'));
      $('space').replaceChildren(...options);
      $('space').value = S.space;
      const hasOther = new Set(spaces.map((space) => space.toLowerCase())).size > 0;
      $('space-label').hidden = !hasOther && !S.facts.writable;
    }
    $('space').onchange = async () => {
      let space = $('space').value;
      if (space === '') {
        const words = S.facts.databases ? 'Which namespace, or which database of documents, such as '
          + 'projects/my-app/databases/(default)?' : 'Which namespace?';
        space = (await question(words + ' A new one is made by its first write.', 'Show', ''))
          || S.space;
        if (!(S.facts.databases && DATABASE.test(space)) && !/^[\w-]{1,100}$/.test(space)) {
          say('A namespace has 1 to 100 letters, digits, hyphens and underscores.'
            + (S.facts.databases ? ' A database of documents is projects/P/databases/D.' : ''));
          space = S.space;
        }
      }
      if (space === S.space) { $('space').value = space; return; }
      S.space = space;
      Object.assign(S, { version: null, samples: [], spaceCount: undefined,
        open: new Set(['/']), limits: new Map() });
      T.text = '';
      D.documents = new Map();
      Q.isRun = false;
      drawNothing();
      $('q-from').value = '';
      drawSpaces();
      drawTabs();
      const view = S.view;
      S.control.abort('other');
      go('/');
      show(view);
    };

    const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
    const seen = () => new Promise((resolve) => {
      const look = () => {
        if (document.hidden) return;
        document.removeEventListener('visibilitychange', look);
        resolve();
      };
      document.addEventListener('visibilitychange', look);
      look();
    });
    function state(words, isOff) {
      if ($('state').textContent !== words) $('state').textContent = words;
      $('state').classList.toggle('off', isOff);
    }
    // One stream tells what moves. A page that nobody sees has none: a browser opens few.
    async function follow() {
      let pause = 500;
      for (;;) {
        await seen();
        const control = S.control = new AbortController();
        try {
          await loadFacts();
          const response = await ask(own('pulse'), { signal: control.signal });
          const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
          state('connected', false);
          pause = 500;
          S.version = null;
          for (let text = ''; ;) {
            const { value, done } = await reader.read();
            if (done) throw new Error();
            text += value;
            const events = text.split('\n\n');
            text = events.pop();
            for (const event of events) {
              if (event.startsWith('data: ')) beat(JSON.parse(event.slice(6)));
            }
          }
        } catch (error) {
          if (control.signal.aborted) continue;
          if (error.status === 401) {
            // Kept in this page alone.
            S.token = await question('This server checks tokens. Give an administrator\'s.',
              'Use', '') || S.token;
          }
          const words = error.status ? error.message : 'not connected, trying again';
          state(words, true);
        }
        await wait(pause);
        pause = Math.min(8000, pause * 1.6);
      }
    }
    document.addEventListener('visibilitychange', () => {
      if (document.hidden && S.control) S.control.abort('hidden');
    });

    const given = new URLSearchParams(location.hash.slice(1));
    S.space = given.get('ns') || new URLSearchParams(location.search).get('ns') || '';
    S.root = S.chosen = pathOf(keysOf(given.get('path') || '/'));
    S.open.add(S.root);
    S.view = given.get('view') || 'data';
    $('path').value = S.root;
    follow();
    """#
}
