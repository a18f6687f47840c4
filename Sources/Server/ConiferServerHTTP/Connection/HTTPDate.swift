/// The date of a `Date` header (RFC 9110, section 5.6.7).
enum HTTPDate {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// - Parameter seconds: since 1970; earlier dates are returned as 1970-01-01.
  static func text(_ seconds: Int64) -> String {
    let seconds = max(0, seconds)
    let (day, second) = (Int(seconds / 86_400), Int(seconds % 86_400))
    let (year, month, date) = civil(day)
    return days[day % 7] + ", \(two(date)) \(months[month - 1]) \(year) "
      + "\(two(second / 3600)):\(two(second / 60 % 60)):\(two(second % 60)) GMT"
  }

  private static func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  /// The date of a day since 1970 (Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms").
  private static func civil(_ day: Int) -> (year: Int, month: Int, day: Int) {
    let shifted = day + 719_468
    let era = shifted / 146_097
    let ofEra = shifted % 146_097
    let year = (ofEra - ofEra / 1460 + ofEra / 36_524 - ofEra / 146_096) / 365
    let ofYear = ofEra - (365 * year + year / 4 - year / 100)
    let month = (5 * ofYear + 2) / 153
    let date = ofYear - (153 * month + 2) / 5 + 1
    let isEarly = month >= 10
    return (year + era * 400 + (isEarly ? 1 : 0), isEarly ? month - 9 : month + 3, date)
  }
}
