extension PageText {
  /// Queries of documents: the form, and what they give.
  static let query = #"""
    const OPERATORS = [['==', 'EQUAL'], ['!=', 'NOT_EQUAL'], ['<', 'LESS_THAN'],
      ['<=', 'LESS_THAN_OR_EQUAL'], ['>', 'GREATER_THAN'], ['>=', 'GREATER_THAN_OR_EQUAL'],
      ['in', 'IN'], ['not in', 'NOT_IN'], ['array contains', 'ARRAY_CONTAINS'],
      ['array contains any', 'ARRAY_CONTAINS_ANY'], ['is null', 'IS_NULL'],
      ['is not null', 'IS_NOT_NULL'], ['is NaN', 'IS_NAN'], ['is not NaN', 'IS_NOT_NAN']];
    const ofList = (operator) => ['IN', 'NOT_IN', 'ARRAY_CONTAINS_ANY'].includes(operator);
    const ofNothing = (operator) => operator.startsWith('IS_');
    const Q = { isRun: false, documents: [], limit: 100, looks: '' };

    const options = (pairs) => pairs.map(([words, value]) => el('option', { value }, words));
    function line(words, ...inputs) {
      const remove = el('button', { type: 'button', 'aria-label': 'Leave out this ' + words, onclick: () => {
        row.remove();
        $('q-' + words).focus();
      } }, '×');
      const row = el('p', { class: 'line', role: 'group', 'aria-label': words }, ...inputs, remove);
      return row;
    }
    function addFilter() {
      const field = el('input', { 'aria-label': 'Field', placeholder: 'field', spellcheck: 'false',
        autocomplete: 'off' });
      const operator = el('select', { 'aria-label': 'Operator' }, ...options(OPERATORS));
      const type = el('select', { 'aria-label': 'Type' },
        ...options(TYPE_NAMES.map((name) => [name, name])));
      const value = el('textarea', { 'aria-label': 'Value', rows: 1, spellcheck: 'false' });
      operator.onchange = () => {
        type.hidden = value.hidden = ofNothing(operator.value);
        value.placeholder = ofList(operator.value) ? 'a value in each line' : '';
        value.rows = ofList(operator.value) ? 3 : 1;
      };
      $('q-filters').append(line('filter', field, operator, type, value));
      field.focus();
    }
    function addOrder() {
      const field = el('input', { 'aria-label': 'Field', placeholder: 'field', spellcheck: 'false',
        autocomplete: 'off' });
      const direction = el('select', { 'aria-label': 'Direction' },
        ...options([['ascending', 'ASCENDING'], ['descending', 'DESCENDING']]));
      $('q-orders').append(line('order', field, direction));
      field.focus();
    }

    function filterOf(row) {
      const [field, operator, type, value] = row.querySelectorAll('input, select, textarea');
      const named = '"field":{"fieldPath":' + JSON.stringify(field.value.trim()) + '}';
      const op = operator.value;
      if (ofNothing(op)) return '{"unaryFilter":{"op":"' + op + '",' + named + '}}';
      const json = ofList(op)
        ? '{"arrayValue":{"values":[' + value.value.split('\n').filter((one) => one !== '')
          .map((one) => typedValue(type.value, one)).join(',') + ']}}'
        : typedValue(type.value, value.value);
      return '{"fieldFilter":{"op":"' + op + '",' + named + ',"value":' + json + '}}';
    }
    // The request of the form: where it goes, and its body.
    function queryOf() {
      const isGroup = $('q-group').checked;
      const ids = $('q-from').value.trim().split('/').filter((id) => id !== '').map(unescaped);
      if (ids.length % 2 === 0 || isGroup && ids.length > 1) {
        throw new Error(isGroup ? 'A group is the id of its collections.'
          : 'Name a collection, such as rooms or rooms/eros/messages.');
      }
      const parts = ['"from":[{"collectionId":' + JSON.stringify(ids.pop())
        + (isGroup ? ',"allDescendants":true' : '') + '}]'];
      const filters = [...$('q-filters').children].map(filterOf);
      if (filters.length === 1) parts.push('"where":' + filters[0]);
      if (filters.length > 1) {
        parts.push('"where":{"compositeFilter":{"op":"' + $('q-any').value + '","filters":['
          + filters.join(',') + ']}}');
      }
      const orders = [...$('q-orders').children].map((row) => {
        const [field, direction] = row.querySelectorAll('input, select');
        return '{"field":{"fieldPath":' + JSON.stringify(field.value.trim()) + '},"direction":"'
          + direction.value + '"}';
      });
      if (orders.length > 0) parts.push('"orderBy":[' + orders.join(',') + ']');
      const limit = $('q-limit').value.trim();
      if (limit !== '') {
        if (!/^[1-9]\d{0,8}$/.test(limit)) throw new Error('A limit is a number from 1.');
        parts.push('"limit":' + limit);
      }
      return { url: placeURL(ids) + ':runQuery', body: '{"structuredQuery":{' + parts.join(',') + '}}' };
    }
    // Runs the query; once more when asked meanwhile.
    async function runQuery(isAgain) {
      if (runQuery.runs) { runQuery.again = true; return runQuery.runs; }
      runQuery.runs = (async () => {
        do {
          runQuery.again = false;
          try {
            if (!isAgain) Q.asked = queryOf();
            const space = S.space;
            const answer = await post(Q.asked.url, Q.asked.body);
            if (space !== S.space) return;
            Q.isRun = true;
            drawResult(answer);
            $('q-wrong').textContent = '';
          } catch (error) {
            if (!isAgain) { Q.isRun = false; drawNothing(); }
            $('q-wrong').textContent = error.message;
          }
        } while (runQuery.again);
      })().finally(() => { runQuery.runs = null; });
      return runQuery.runs;
    }
    function drawNothing() {
      Q.documents = [];
      Q.looks = '';
      $('q-facts').textContent = '';
      $('q-result').replaceChildren();
    }
    function drawResult(answer) {
      Q.documents = answer.map((one) => one.document).filter((document) => document);
      const time = answer.length > 0 ? answer[answer.length - 1].readTime : '';
      $('q-facts').textContent = plural(Q.documents.length, 'document') + ' as of ' + time;
      drawRows();
    }
    function drawRows() {
      const documents = Q.documents.slice(0, Q.limit);
      const looks = documents.map((one) => one.name + ' ' + one.updateTime).join('\n');
      if (Q.looks === looks && looks !== '') return;
      Q.looks = looks;
      if (documents.length === 0) {
        return $('q-result').replaceChildren(el('p', { class: 'empty' }, 'No document matches.'));
      }
      const heads = ['document', 'fields', 'changed'].map((words) => el('th', { scope: 'col' }, words));
      const rows = documents.map((document) => {
        const ids = document.name.slice(S.space.length + 11).split('/');
        const path = '/' + ids.map(idSegment).join('/');
        const link = el('button', { class: 'link', title: 'Show in the tree', type: 'button',
          onclick: () => go(path).then(backToTree) }, ids.map(shown).join('/'));
        const pairs = pairsOf(document.fields || {});
        const fields = pairs.slice(0, 20).map(([name, value]) => el('li', {},
          el('b', {}, shown(cut(name, 100)) + ': '),
          el('span', { class: LOOKS[value.type] || 'server' }, wordsOf(value)),
          el('span', { class: 'note' }, ' ' + value.type)));
        if (pairs.length > 20) fields.push(el('li', {}, '… ' + (pairs.length - 20).toLocaleString('en') + ' more'));
        return el('tr', {}, el('td', {}, link),
          el('td', {}, fields.length === 0 ? '–' : el('ul', {}, ...fields)),
          el('td', {}, document.updateTime));
      });
      const nodes = [el('table', {}, el('thead', {}, el('tr', {}, ...heads)), el('tbody', {}, ...rows))];
      if (Q.documents.length > Q.limit) {
        nodes.push(el('p', {}, el('button', { type: 'button', onclick: () => {
          Q.limit += 500;
          drawRows();
        } }, (Q.documents.length - Q.limit).toLocaleString('en') + ' more: show more')));
      }
      $('q-result').replaceChildren(...nodes);
    }

    $('q-filter').onclick = addFilter;
    $('q-order').onclick = addOrder;
    $('query').addEventListener('submit', (event) => {
      event.preventDefault();
      Q.limit = 100;
      runQuery();
    });
    """#
}
