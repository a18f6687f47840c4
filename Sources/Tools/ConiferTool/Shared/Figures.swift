/// Numbers as people read them, without a locale.
enum Figures {
  /// `1234567` as `1,234,567`.
  static func count(_ number: Int) -> String {
    let digits = String(number.magnitude)
    var text = ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index).isMultiple(of: 3) { text += "," }
      text.append(digit)
    }
    return number < 0 ? "-" + text : text
  }

  /// A number of things: `1 write`, `1,200 writes`.
  static func some(_ number: Int, _ thing: String) -> String {
    "\(count(number)) \(thing)\(number == 1 ? "" : "s")"
  }

  /// How long something took or waits, roughly: `5 minutes`, `30 hours`, `12 days`.
  static func age(milliseconds: Int64) -> String {
    let minutes = Int(clamping: max(0, milliseconds) / 60_000)
    if minutes < 120 { return some(minutes, "minute") }
    if minutes < 48 * 60 { return some(minutes / 60, "hour") }
    return some(minutes / 1440, "day")
  }

  /// Bytes with a unit of 1024: `512 B`, `1.5 KB`, `10.0 MB`.
  static func bytes(_ number: Int) -> String {
    var value = Double(number)
    for unit in ["B", "KB", "MB", "GB"] {
      if value < 1024 || unit == "GB" {
        return unit == "B" ? "\(number) B" : "\(fixed(value, 1)) \(unit)"
      }
      value /= 1024
    }
    return "\(number) B"
  }

  /// A duration: `850 µs`, `12.3 ms`, `1.25 s`.
  static func time(_ duration: Duration) -> String {
    let seconds = seconds(duration)
    if seconds < 0.001 { return "\(Int(seconds * 1e6)) µs" }
    if seconds < 1 { return "\(fixed(seconds * 1000, 1)) ms" }
    return "\(fixed(seconds, 2)) s"
  }

  static func seconds(_ duration: Duration) -> Double {
    let (whole, atto) = duration.components
    return Double(whole) + Double(atto) / 1e18
  }

  /// A number with a fixed count of decimals, 0 to 3.
  static func fixed(_ number: Double, _ decimals: Int) -> String {
    let scale = [1, 10, 100, 1000][min(max(decimals, 0), 3)]
    guard number.isFinite, number.magnitude < 1e15 else { return "\(number)" }
    let scaled = Int((number.magnitude * Double(scale)).rounded())
    let sign = number < 0 && scaled > 0 ? "-" : ""
    guard decimals > 0 else { return sign + String(scaled) }
    let fraction = String(scaled % scale)
    let zeros = String(repeating: "0", count: max(0, decimals - fraction.count))
    return "\(sign)\(scaled / scale).\(zeros)\(fraction)"
  }
}
