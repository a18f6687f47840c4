/// A bar on a terminal's error output; silent where nobody watches.
struct Progress {
  private let label: String
  private let total: Int
  private let draw: (@Sendable (String) -> Void)?
  private var shown = -1

  /// A bar of work whose size is known.
  init(_ label: String, total: Int, _ console: Console) {
    self.label = label
    self.total = max(total, 1)
    self.draw = console.redraw
  }

  /// Redraws when the bar's percentage changed.
  mutating func advance(to done: Int) {
    guard let draw else { return }
    let percent = Int(min(100, Double(done) * 100 / Double(total)))
    guard percent != shown else { return }
    shown = percent
    let full = percent * 30 / 100
    let bar = String(repeating: "#", count: full) + String(repeating: "·", count: 30 - full)
    draw("\(label) [\(bar)] \(percent) %")
  }

  /// Removes the bar.
  func finish() { draw?("") }
}
