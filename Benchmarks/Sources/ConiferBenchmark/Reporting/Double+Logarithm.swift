import Foundation

extension Double {
  /// The decimal logarithm; in a file of its own, since C brings many names.
  var logarithm: Double { log10(self) }
}
