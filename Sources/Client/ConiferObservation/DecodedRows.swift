/// The rows of a list, and why some elements are not among them. Only what has changed is decoded again.
struct DecodedRows<Content: Equatable, Element: Sendable, Failure: Error> {
  private(set) var rows: [ObservedRow<Element>] = []
  private(set) var faults: [String: Failure] = [:]
  private var known: [String: (content: Content, row: Result<Element, Failure>)] = [:]

  /// Takes the list as it is now.
  ///
  /// - Parameters:
  ///   - describe: what tells an item from the others, and what it is decoded from.
  ///   - decode: called for what is new or has changed.
  /// - Returns: whether a row or a fault is another one.
  mutating func take<Item>(
    _ items: some Sequence<Item>, _ describe: (Item) -> (id: String, content: Content),
    decode: (Item) throws(Failure) -> Element
  ) -> Bool {
    var next: [String: (content: Content, row: Result<Element, Failure>)] = [:]
    var (rows, faults): ([ObservedRow<Element>], [String: Failure]) = ([], [:])
    var isChanged = false
    for item in items {
      let (id, content) = describe(item)
      let row: Result<Element, Failure>
      if let old = known[id], old.content == content {
        row = old.row
      } else {
        row = Result { () throws(Failure) in try decode(item) }
        isChanged = true
      }
      next[id] = (content, row)
      switch row {
      case .success(let value): rows.append(ObservedRow(id: id, value: value))
      case .failure(let error): faults[id] = error
      }
    }
    let isSame =
      !isChanged && next.count == known.count
      && rows.elementsEqual(self.rows) { $0.id == $1.id }
    known = next
    if !isSame { (self.rows, self.faults) = (rows, faults) }
    return !isSame
  }
}
