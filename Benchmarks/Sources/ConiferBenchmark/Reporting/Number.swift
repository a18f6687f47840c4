/// Numbers as tables show them.
enum Number {
  /// Three significant digits, with k and M above thousands.
  static func short(_ value: Double) -> String {
    switch abs(value) {
    case 999_500...: digits(value / 1e6) + "M"
    case 9_995...: digits(value / 1e3) + "k"
    default: digits(value)
    }
  }

  private static func digits(_ value: Double) -> String {
    let size = abs(value)
    if size >= 100 || value == 0 { return "\(Int(value.rounded()))" }
    let scale: Double = size >= 10 ? 10 : size >= 1 ? 100 : 1000
    let rounded = (value * scale).rounded() / scale
    return rounded == rounded.rounded() ? "\(Int(rounded))" : "\(rounded)"
  }
}
