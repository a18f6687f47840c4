/// A line of the table that a demo ends with.
struct DemoFigure {
  let name: String
  let words: String
  let value: Report

  init(name: String, words: String, value: Report) {
    self.name = name
    self.words = words
    self.value = value
  }

  init(_ name: String, _ count: Int) {
    self.init(name: name, words: Figures.count(count), value: .integer(count))
  }

  init(_ name: String, _ time: Duration) {
    self.init(name: name, words: Figures.time(time), value: .number(Figures.seconds(time)))
  }

  /// Prints the table, and how to look at the stores; or JSON.
  ///
  /// - Parameter stores: the stores' URLs, the one that the demo is about first.
  static func show(
    _ figures: [DemoFigure], stores: [String], _ json: Bool, _ console: Console
  ) throws {
    guard json else {
      var table = Table(["what", "figure"])
      for figure in figures { table.add(figure.name, figure.words) }
      try console.print("")
      for line in table.lines { try console.print(line) }
      try console.print("")
      for store in stores { try console.print("look at it: conifer stats --store '\(store)'") }
      #if Network
        try console.print("in the browser: conifer inspect --store '\(stores.first ?? "")'")
      #endif
      return
    }
    let members = figures.map { ($0.name, $0.value) }
    try console.print(
      Report.object([("store", .optional(stores.first)), ("figures", .object(members))]).compact)
  }
}
