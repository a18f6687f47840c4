package import ConiferDocument
import ConiferTree

extension DocumentQuery {
  /// The query as bundles have it, as bytes of JSON; to be kept.
  package var json: [UInt8] {
    var writer = JSONWriter()
    writer.bundledQuery(self)
    return writer.bytes
  }

  /// Reads what ``json`` gives.
  ///
  /// - Throws: `dataLoss` for other bytes, with the place.
  package init(json: [UInt8]) throws(StatusError) {
    var reader = DocumentJSONReader(json)
    do throws(JSONError) {
      self = try reader.bundledQuery()
    } catch {
      throw StatusError(.dataLoss, "A kept query cannot be read: \(error)")
    }
  }
}
