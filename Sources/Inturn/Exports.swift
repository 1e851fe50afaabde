// Re-exports the engine, all of which is package access. In every module that imports only this
// one, this module's names thus take the place of the engine's names that are the same.
@_exported public import InturnCore
