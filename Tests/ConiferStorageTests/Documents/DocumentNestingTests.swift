import ConiferDocument
import ConiferKeyValue
import Testing

@testable import ConiferStorage

/// How deep the values of a stored document nest.
@Suite struct DocumentNestingTests {
  private typealias Samples = DocumentSamples

  /// What lies within each other.
  enum Container: CaseIterable, Sendable {
    case map, array, serverTimestamp, mixed

    func holding(_ value: DocumentValue, _ level: Int) -> DocumentValue {
      switch self {
      case .map: .map(["x": value])
      case .array: .array([1, value])
      case .serverTimestamp: .serverTimestamp(written: .zero, previous: value)
      case .mixed: Self.allCases[level % 3].holding(value, level)
      }
    }
  }

  @Test(arguments: Container.allCases)
  func `A document that is stored can be read, and one that could not is refused`(
    _ container: Container
  ) throws {
    let path = Samples.path("c/deep")
    var value: DocumentValue = nil
    var refused: [Int] = []
    for level in 1...110 {
      value = container.holding(value, level)
      let document = Document(path, .found(["a": 1, "z": value]))
      do throws(StoreError) {
        let bytes = try DocumentRecord.encode(document)
        #expect(refused.isEmpty, "\(level) levels")
        let read = bytes.withUnsafeBytes { DocumentRecord.decode(path, $0) }
        #expect(read == document, "\(level) levels")
      } catch {
        #expect(error.code == .invalid && error.message.contains("c/deep"))
        refused.append(level)
      }
    }
    // Far more than the service has.
    let first = try #require(refused.first)
    #expect(first > 2 * DocumentLimits.depth)
  }
}
