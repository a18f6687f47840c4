package import ConiferDocument
package import ConiferWire

extension DocumentQuery.Order {
  /// The orders of a text such as `priority desc, name`; none of an empty one.
  ///
  /// - Throws: `invalidArgument` for another text.
  package static func read(_ text: String?) throws(StatusError) -> [DocumentQuery.Order] {
    guard let text, !text.isEmpty else { return [] }
    var orders: [DocumentQuery.Order] = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let words = part.split(separator: " ")
      var direction = Direction.ascending
      switch words.dropFirst().map({ $0.lowercased() }) {
      case [], ["asc"]: break
      case ["desc"]: direction = .descending
      default: throw malformedOrder
      }
      do throws(DocumentError) {
        orders.append(.init(try FieldPath(canonical: String(words.first ?? "")), direction))
      } catch { throw malformedOrder }
    }
    return orders
  }

  private static let malformedOrder = StatusError(
    .invalidArgument,
    "orderBy is fields with commas between them, each with desc or without: "
      + "\"priority desc, name\".")
}
