import ConiferKit
import Foundation
import Testing

/// What one import gives of both models at once.
@Suite struct `Both models with one import` {
  /// Both have a wrapper of this name, as the Apple SDK's modules do.
  private struct Message: Codable {
    @Conifer.ServerTimestamp var sent: Date?
  }

  private struct Note: Codable {
    @ConiferFirestore.ServerTimestamp var sent: Date?
  }

  @Test func `names of both are told apart by their modules`() throws {
    let message = try JSONEncoder().encode(Message())
    #expect(String(decoding: message, as: UTF8.self) == #"{"sent":{".sv":"timestamp"}}"#)
    let note = try Firestore.Encoder().encode(Note(sent: nil))
    #expect(note["sent"] is FieldValue)
  }
}
