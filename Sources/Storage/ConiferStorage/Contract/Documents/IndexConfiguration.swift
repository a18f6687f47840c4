public import ConiferKeyValue
import ConiferTree

/// The declared indexes of documents in the JSON form of the vendor's tool (`firebase
/// firestore:indexes`).
///
/// Exemptions of single fields, overrides of all fields at once (`*`), indexes for nearest-neighbour search
/// and what the tool writes into an index that means nothing here (`density`, `apiScope`, `multiKey`,
/// `unique`, `ttl`) are passed over: nothing is indexed that is not declared.
public struct IndexConfiguration: Sendable, Hashable {
  /// The indexes, each once.
  public let indexes: [DocumentIndex]

  /// A configuration.
  ///
  /// - Parameter indexes: the indexes in any order; repeated ones count once.
  public init(_ indexes: [DocumentIndex]) {
    var seen: Set<DocumentIndex> = []
    self.indexes = indexes.filter { seen.insert($0).inserted }
  }

  /// Reads a configuration.
  ///
  /// - Parameter json: the text that the vendor's tool exports.
  /// - Throws: `invalid`, naming the place, such as
  ///   `indexes[2].fields[0].order: must be ASCENDING or DESCENDING, not "UP"`; also for a text with neither
  ///   `indexes` nor `fieldOverrides`, and for any key that the tool does not write.
  public init(json: String) throws(StoreError) {
    self.init(try IndexConfigurationReader.indexes(Array(json.utf8)))
  }

  /// The configuration as the vendor's tool takes it: an index of one field is an override of that
  /// field.
  public var json: String { IndexConfigurationWriter.text(indexes) }
}
