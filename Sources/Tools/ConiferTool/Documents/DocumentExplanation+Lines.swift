import ConiferStorage

extension DocumentExplanation {
  /// The explanation for people.
  var lines: [String] {
    var table = Table()
    switch plan {
    case .scan(let collections):
      let plural = collections == 1 ? "" : "s"
      table.add("plan", "every document of \(Figures.count(collections)) collection\(plural)")
    case .document: table.add("plan", "documents by name")
    case .matches: table.add("plan", "what the query matched, and what was read since")
    case .indexes(let groups):
      for group in groups {
        let names = group.map { "\($0)" }
        table.add("index", names.joined(separator: " joined with "))
      }
    }
    table.add("index rows read", Figures.count(indexEntries))
    table.add("documents read", Figures.count(documentsRead))
    table.add("documents decoded", Figures.count(documentsDecoded))
    table.add("runs read", "\(Figures.count(runsRead)), \(Figures.bytes(bytesDecoded)) unpacked")
    if isSorted { table.add("sorted", "all that was found") }
    if overlays > 0 {
      table.add("waiting writes", "laid over \(Figures.count(overlays)) documents")
    }
    if let building { table.add("being built", "\(building), which will serve the query") }
    switch obstacle {
    case .encryption:
      table.add("no index", "an encrypted store keeps none: their keys would show values")
    case .longPath(let bytes, let most):
      table.add(
        "no index",
        "the path of the collection takes \(bytes) bytes in the keys of an index, which have room for \(most)"
      )
    case nil: break
    }
    guard let hint else { return table.lines }
    table.add("hint", "declare the index \(hint)")
    return table.lines + IndexConfiguration([hint]).json.split(separator: "\n").map(String.init)
  }
}
