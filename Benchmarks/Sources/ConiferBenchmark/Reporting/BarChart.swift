/// A line of a table as horizontal bars, in SVG without scripts or fonts of its own.
struct BarChart {
  let line: Summary.Line

  private static let (row, left, right) = (24.0, 130.0, 110.0)
  private static let width = 640.0

  /// The largest and the smallest figure are far apart: bars grow with the logarithm then.
  private var isLogarithmic: Bool {
    let values = line.figures.map(\.value).filter { $0 > 0 }
    guard let low = values.min(), let high = values.max() else { return false }
    return high / low > 40
  }

  var svg: String {
    let figures = line.figures
    let height = Self.row * Double(figures.count) + 8
    let highest = figures.map(\.highest).max() ?? 1
    let lowest = figures.map(\.lowest).filter { $0 > 0 }.min() ?? 1
    let space = Self.width - Self.left - Self.right
    func length(_ value: Double) -> Double {
      guard value > 0, highest > 0 else { return 0 }
      guard isLogarithmic else { return value / highest * space }
      // Half a decade is left of the smallest, so that its bar can be seen.
      return ((value / lowest).logarithm + 0.5) / ((highest / lowest).logarithm + 0.5) * space
    }
    var parts = [
      "<svg class=\"chart\" viewBox=\"0 0 \(Int(Self.width)) \(Int(height))\" role=\"img\" "
        + "aria-label=\"\(Self.escaped(line.title))\">"
    ]
    for (index, figure) in figures.enumerated() {
      let y = 4 + Self.row * Double(index)
      let middle = Self.text(y + 16)
      let end = length(figure.value)
      parts.append(
        "<text class=\"name\" x=\"\(Self.text(Self.left - 8))\" y=\"\(middle)\">"
          + "\(Self.escaped(figure.candidate))</text>")
      parts.append(
        "<rect class=\"bar \(figure.kind.rawValue)\" x=\"\(Self.text(Self.left))\" "
          + "y=\"\(Self.text(y + 3))\" width=\"\(Self.text(max(1, end)))\" height=\"18\"/>")
      if figure.lowest < figure.highest {
        let (from, to) = (
          Self.left + max(0, length(figure.lowest)), Self.left + length(figure.highest)
        )
        parts.append(
          "<path class=\"spread\" d=\"M\(Self.text(from)) \(Self.text(y + 12))H\(Self.text(to))\"/>"
        )
      }
      let after = Self.left + max(end, length(figure.highest)) + 6
      parts.append(
        "<text class=\"value\" x=\"\(Self.text(after))\" y=\"\(middle)\">"
          + "\(Number.short(figure.value))</text>")
    }
    return parts.joined() + "</svg>"
  }

  var caption: String {
    let better = line.isRate ? "more is better" : "less is better"
    return "\(line.unit), \(better)\(isLogarithmic ? ", logarithmic" : "")"
  }

  private static func text(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }

  static func escaped(_ text: String) -> String {
    var result = ""
    for character in text {
      switch character {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      default: result.append(character)
      }
    }
    return result
  }
}
